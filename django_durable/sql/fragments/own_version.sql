-- A row whose code this process runs.
(%(version)s::text IS NULL OR w.app_version = %(version)s OR (w.app_version IS NULL AND %(newest)s))
