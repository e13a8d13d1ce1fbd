"""MCP server: speaks MCP to hosts."""
