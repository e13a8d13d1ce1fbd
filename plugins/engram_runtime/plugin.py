"""Hook implementations of the runtime plugin: the control protocol of the command line."""

from __future__ import annotations

from collections.abc import Callable

from engram_kernel.hookspecs import hookimpl
from engram_kernel.plugins import PluginContext
from engram_kernel.services import Service, Transport
from engram_runtime.control import ControlTransport


@hookimpl
def engram_register_transports(register: Callable[[Transport | Service], None], context: PluginContext) -> None:
    register(ControlTransport())
