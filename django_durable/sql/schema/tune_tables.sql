-- Bind the sequences to their columns, and vacuum the hot tables early, so that windows stay index-only.
--   rides on   nothing
--   locks      SHARE UPDATE EXCLUSIVE on the tables
--   returns    nothing
ALTER SEQUENCE durable_line_seq OWNED BY durable_workflow_status.seq;
ALTER SEQUENCE durable_arrival_seq OWNED BY durable_workflow_status.arrival;
ALTER SEQUENCE durable_claim_seq OWNED BY durable_workflow_status.claim_seq;
ALTER TABLE durable_workflow_status SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01,
    autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_insert_threshold = 1000
);
ALTER TABLE durable_step_output SET (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05
);
ALTER TABLE durable_rate_start SET (autovacuum_vacuum_scale_factor = 0.01)
