-- What a row that is put in line gets, at the place named `place`: the marks are set together, as they are cleared.
status = 'ENQUEUED', seq = place.seq, line = place.seq, group_line = place.seq,
    enqueued_xid = pg_current_xact_id(), arrival = nextval('durable_arrival_seq'),
    delay_until = NULL, updated_at = clock_timestamp()
