-- A row in line that this process may start: of its version, and not expired.
(w.expires_at IS NULL OR w.expires_at > statement_timestamp())
    AND (%(version)s::text IS NULL OR w.app_version = %(version)s OR (w.app_version IS NULL AND %(newest)s))
