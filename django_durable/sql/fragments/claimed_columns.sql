-- The whole row as a claim hands it on, in the order of core.run.Run.
w.id, w.claim_token, w.name, w.queue, w.input, w.serialization, w.attempt, w.max_attempts, w.claims,
    w.partition_key, w.limit_key, w.created_at, w.started_at, w.deadline, w.parent_id, w.headers, w.rank, w.seq,
    EXISTS (SELECT FROM durable_step_output AS s WHERE s.workflow_id = w.id)
