"""Hook implementations of the thought store plugin."""
