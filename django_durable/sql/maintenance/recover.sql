-- Put the runs of a lost executor back at their place in line, and park those dispatched too often.
--   rides on   durable_owned, durable_executor_pkey
--   locks      FOR NO KEY UPDATE SKIP LOCKED; a run that is just settling is left to the next pass
--   returns    id, status of each run given back or parked
WITH owned AS MATERIALIZED (
    SELECT w.id, w.seq, w.claim_token, w.claims > %(max_claims)s AS worn_out
    FROM durable_workflow_status AS w
    WHERE w.executor_id = %(executor)s AND w.id <> ALL(%(refused)s::text[])
    ORDER BY w.id
    LIMIT %(batch)s
    FOR NO KEY UPDATE SKIP LOCKED
), lost AS (
    SELECT format(' (process %%s on %%s)', e.pid, e.hostname) AS place
    FROM durable_executor AS e
    WHERE e.id = %(executor)s
), parked AS (
    UPDATE durable_workflow_status AS w
    SET status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', completed_at = clock_timestamp(), updated_at = clock_timestamp(),
        claim_seq = NULL, deduplication_id = NULL, {{give_up_claim}},
        error = json_build_object(
            'type', 'django_durable.exceptions.WorkflowParked',
            'message', format(
                'workflow %%L was set aside after %%s dispatches that never ended, the last by executor %%s%%s, '
                    'which was lost; look at what kills its workers, then resume it',
                w.id, w.claims, w.executor_id, (SELECT lost.place FROM lost)
            )
        )::text
    FROM owned
    WHERE w.id = owned.id AND owned.worn_out
        AND w.status = 'PENDING' AND w.executor_id = %(executor)s AND w.claim_token = owned.claim_token
    RETURNING w.id, w.status
), place AS MATERIALIZED (
    SELECT owned.id, owned.seq, owned.claim_token FROM owned WHERE NOT owned.worn_out
), returned AS (
    UPDATE durable_workflow_status AS w
    SET {{enter_line}}, started_at = NULL, expires_at = NULL, claim_seq = NULL, {{give_up_claim}}
    FROM place
    WHERE w.id = place.id
        AND w.status = 'PENDING' AND w.executor_id = %(executor)s AND w.claim_token = place.claim_token
    RETURNING w.id, w.status
)
SELECT id, status FROM parked UNION ALL SELECT id, status FROM returned
