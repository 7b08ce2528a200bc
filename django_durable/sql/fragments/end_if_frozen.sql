-- Let the server end the claim, with its locks, where no statement follows: its process is stopped, or gone unheard.
-- What the role has been given stands where it is shorter.
set_config(
    'idle_in_transaction_session_timeout',
    CASE
        WHEN current_setting('idle_in_transaction_session_timeout')::interval BETWEEN '1 ms' AND '30 s'
            THEN current_setting('idle_in_transaction_session_timeout')
        ELSE '30s'
    END,
    true
)
