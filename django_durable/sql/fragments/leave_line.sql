-- What a row that leaves the line loses.
line = NULL, group_line = NULL, enqueued_xid = NULL, arrival = NULL, updated_at = clock_timestamp()
