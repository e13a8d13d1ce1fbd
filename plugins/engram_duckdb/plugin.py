"""Hook implementations of the duckdb store plugin."""
