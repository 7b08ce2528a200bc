-- Put a message into a run's mailbox; one with an idempotency key that is there already adds nothing.
--   rides on   durable_message_once, to find conflicts
--   locks      the row it inserts
--   returns    the id of the message, if it is new
INSERT INTO durable_message (workflow_id, topic, payload, serialization, idempotency_key, sent_at)
VALUES (%(workflow)s, %(topic)s, %(payload)s, %(serialization)s, %(idempotency_key)s, clock_timestamp())
ON CONFLICT DO NOTHING
RETURNING id
