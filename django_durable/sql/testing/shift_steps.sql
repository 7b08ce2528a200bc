-- Let time pass for what bodies recorded, the timers and retry delays among it, in tests.
-- All of it moves alike: the order in which calls ended counts.
--   rides on   nothing: it reads the whole table
--   locks      every row
--   returns    nothing
UPDATE durable_step_output AS s
SET started_at = s.started_at - make_interval(secs => extract(epoch FROM %(by)s::interval)::float8),
    completed_at = s.completed_at - make_interval(secs => extract(epoch FROM %(by)s::interval)::float8),
    output = CASE
        WHEN s.name = ANY(%(timers)s::text[])
            THEN (s.output::numeric - extract(epoch FROM %(by)s::interval))::text
        WHEN s.name = 'durable.retries' AND s.step < 0
            THEN jsonb_set(
                s.output::jsonb, '{until}',
                to_jsonb((s.output::jsonb ->> 'until')::numeric - extract(epoch FROM %(by)s::interval))
            )::text
        ELSE s.output
    END
