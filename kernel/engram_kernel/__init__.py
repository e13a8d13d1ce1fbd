"""The microkernel: domain model, hook specifications and composition root of Engram Kernel.

Importing this package imports nothing else, so that the command line and the pipe stay fast.
"""

__version__ = "0.1.0"
API_VERSION = 1
