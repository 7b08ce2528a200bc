-- What a row loses when nobody runs it any more.
claim_token = NULL, executor_id = NULL
