"""An example plugin: memories that nobody has touched for a long time."""
