"""Prints at import, at registration and in its tool; warns, and writes to the descriptor itself."""

import os
import subprocess
import sys
import warnings

from engram_kernel.arguments import Arguments
from engram_kernel.hookspecs import hookimpl
from engram_kernel.tools import Tool

print("noise: imported")


def shout(call, arguments):
    print("noise: called", flush=True)
    sys.stdout.write("noise: no line break")
    sys.stdout.flush()
    os.write(1, b"noise: descriptor 1\n")
    subprocess.run([sys.executable, "-c", "print('noise: from a child')"], check=True)
    warnings.warn("noise: warning", stacklevel=1)
    return "done"


@hookimpl
def engram_register_tools(register, context):
    print("noise: registered")
    register(
        Tool(name="shout", title="Shout", description="Writes to standard output.", group="thoughts", handler=shout, arguments=Arguments)
    )
