-- A moment of a server: what was over then, and since when it runs. One that began anew may have lost what was over.
pg_current_snapshot()::text, extract(epoch FROM pg_postmaster_start_time())::text
