"""Hook implementations of the lexical search plugin."""
