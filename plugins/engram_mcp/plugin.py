"""Hook implementations of the mcp server plugin."""
