-- What a claim writes; a woken run keeps its place in the limits, a deadline once set only comes nearer.
status = 'PENDING', claim_token = %(token)s, executor_id = %(executor)s,
    claim_seq = coalesce(w.claim_seq, nextval('durable_claim_seq')), claims = w.claims + 1, started_at = clock_timestamp(),
    deadline = least(w.deadline, clock_timestamp() + make_interval(secs => extract(epoch FROM w.timeout)::float8)),
    app_version = coalesce(w.app_version, %(version)s)
