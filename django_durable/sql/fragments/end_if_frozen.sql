-- Let the server end the claim, with its locks, where no statement follows: its process is stopped, or gone unheard.
set_config('idle_in_transaction_session_timeout', '30s', true)
