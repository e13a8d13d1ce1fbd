"""Hook implementations of the ranking plugin."""
