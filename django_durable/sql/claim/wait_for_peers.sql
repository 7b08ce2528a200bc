-- Wait until no peer claims from this queue, but not for long; the user's own lock_timeout is in force again after it.
--   rides on   nothing
--   locks      the queue's advisory lock until the transaction ends; waits for it, holding nothing else
--   returns    the lock_timeout that was set before
SELECT set_config('lock_timeout', asked.before, true)
FROM (
    SELECT
        current_setting('lock_timeout') AS before,
        set_config('lock_timeout', %(patience)s, true),
        pg_advisory_xact_lock(hashtext('django_durable claims from'), hashtext(%(queue)s)),
        {{end_if_frozen}}
    OFFSET 0
) AS asked
