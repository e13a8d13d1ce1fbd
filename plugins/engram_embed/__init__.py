"""Embedding: makes vectors of texts, with the built-in model or a provider of the person's choice."""
