-- Where a session's own isolation is another one, rows that change meanwhile would be an error.
current_setting('transaction_isolation') = 'read committed'
