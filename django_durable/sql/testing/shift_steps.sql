-- Let time pass for the timers and retry delays that bodies recorded, in tests.
--   rides on   nothing: it reads the whole table
--   locks      the rows it changes
--   returns    nothing
UPDATE durable_step_output AS s
SET output = CASE
    WHEN s.step > 0 THEN (s.output::numeric - extract(epoch FROM %(by)s::interval))::text
    ELSE jsonb_set(
        s.output::jsonb, '{until}',
        to_jsonb((s.output::jsonb ->> 'until')::numeric - extract(epoch FROM %(by)s::interval))
    )::text
END
WHERE s.name = ANY(%(timers)s::text[]) OR (s.name = 'durable.retries' AND s.step < 0)
