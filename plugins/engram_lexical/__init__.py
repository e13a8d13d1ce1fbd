"""Lexical search: BM25 over Unicode tokens."""
