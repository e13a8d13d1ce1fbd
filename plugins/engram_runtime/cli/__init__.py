"""The command line `engram`: every command is imported only when it is run, and reaches the store through the owner."""
