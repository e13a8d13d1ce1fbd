"""Thought store: 13 tools."""
