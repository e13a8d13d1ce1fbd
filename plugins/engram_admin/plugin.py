"""Hook implementations of the operator tools plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engram_kernel.hookspecs import hookimpl

if TYPE_CHECKING:
    from engram_kernel.hookspecs import Surface
    from engram_kernel.plugins import PluginContext
    from engram_kernel.services import Check


@hookimpl
def engram_register_tools(register: Callable[[Surface], None], context: PluginContext) -> None:
    from engram_admin.tools import Operator

    for tool in Operator(context.store, context.folder).tools():
        register(tool)


@hookimpl
def engram_register_checks(register: Callable[[Check], None], context: PluginContext) -> None:
    from engram_admin.checks import Examiner

    for check in Examiner(context.store, context.folder, context.settings).checks():
        register(check)
