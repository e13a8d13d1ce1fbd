"""Embedding models: the built-in offline one, and providers switched on by configuration."""
