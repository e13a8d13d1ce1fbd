"""Hook implementations of the processes plugin."""
