"""The host project's own app: tables that bodies write to, and workflows to run."""
