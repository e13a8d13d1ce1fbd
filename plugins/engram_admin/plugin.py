"""Hook implementations of the operator tools plugin."""
