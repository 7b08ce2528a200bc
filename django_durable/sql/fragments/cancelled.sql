-- What a row gets that is cancelled, by whomever and for whatever reason.
status = 'CANCELLED', error = %(error)s, completed_at = clock_timestamp(), claim_seq = NULL,
    deduplication_id = NULL, delay_until = NULL, wake_at = NULL, wait_topic = NULL
