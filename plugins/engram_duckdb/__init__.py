"""DuckDB store: keeps memories in one DuckDB file."""
