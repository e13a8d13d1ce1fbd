"""MCP server: speaks the Model Context Protocol to hosts, in both protocol eras."""
