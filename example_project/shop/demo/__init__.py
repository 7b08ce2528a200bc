"""The demo: real workers, real orders, a kill -9 in the middle, then a count of what was lost or doubled."""
