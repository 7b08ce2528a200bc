-- Ranges of numbers that a cut of the runs in `given` from a number of the body on leaves alone: of the branches whose
-- first record began before that of the body's call at that number. A branch has a thousand numbers from 1 001 000 on,
-- each number from 2^30 on stands for itself (core/branches.py). From 1 on, and from a number of a branch, all is cut.
older AS MATERIALIZED (
    SELECT given.id, min(place.first) AS first, min(place.last) AS last
    FROM given
    JOIN durable_step_output AS b ON b.workflow_id = given.id AND b.step >= 1000000
    CROSS JOIN LATERAL (
        SELECT b.step / 1000 * 1000 AS first, b.step / 1000 * 1000 + 999 AS last WHERE b.step < 1073741824
        UNION ALL
        SELECT b.step, b.step WHERE b.step >= 1073741824
    ) AS place
    WHERE given.step > 1 AND given.step < 1000000
    GROUP BY given.id, given.step, place.first
    HAVING min(b.started_at) < coalesce(
        (
            SELECT min(s.started_at)
            FROM durable_step_output AS s
            WHERE s.workflow_id = given.id AND s.step >= given.step AND s.step < 1000000
        ),
        'infinity'
    )
)
