-- The whole row as a claim hands it on, in the order of core.run.Run; instants in microseconds: few are looked at.
w.id, w.claim_token, w.name, w.queue, w.input, w.serialization, w.attempt, w.max_attempts, w.claims,
    w.partition_key, w.limit_key, (extract(epoch FROM w.created_at) * 1000000)::bigint,
    (extract(epoch FROM w.started_at) * 1000000)::bigint, (extract(epoch FROM w.deadline) * 1000000)::bigint,
    w.parent_id, w.headers, w.rank, w.seq,
    EXISTS (SELECT FROM durable_step_output AS s WHERE s.workflow_id = w.id)
