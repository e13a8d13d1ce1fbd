"""Operator tools: backup, verify, status, doctor."""
