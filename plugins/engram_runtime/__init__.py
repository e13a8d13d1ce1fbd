"""Processes and entry points: the pipe (`engram-mcp`), the owner of a data folder, and the command line (`engram`)."""
