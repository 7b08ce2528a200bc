-- Let the claim's commit not wait for the disk: a claim lost with the server was followed by no write of its runs.
set_config('synchronous_commit', 'off', true)
