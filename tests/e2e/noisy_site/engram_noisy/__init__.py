"""A plugin that writes to standard output wherever it can."""
