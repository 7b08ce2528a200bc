-- Wake a run that waits for a message on this topic, which was sent in this transaction.
--   rides on   durable_workflow_status_pkey; the status is put so that no index of those who wait can serve it
--   locks      the row, if it waits
--   returns    the id, if it was woken
UPDATE durable_workflow_status AS w
SET wake_at = clock_timestamp(), updated_at = clock_timestamp()
WHERE w.id = %(id)s AND w.status || '' = 'WAITING' AND w.wait_topic IN ('message ' || %(topic)s, 'any')
RETURNING w.id
