"""Hook implementations of the thought store plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engram_kernel.hookspecs import hookimpl
from engram_kernel.plugins import PluginContext
from engram_thoughts.catalogue import tools
from engram_thoughts.importer.tool import import_tool
from engram_thoughts.prompts import prompts
from engram_thoughts.resources import Resources
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import ACTIONS, THOUGHTS


@hookimpl
def engram_register_tools(register: Callable[[Any], None], context: PluginContext) -> None:
    """The collections, 13 tools, 3 resources, 3 prompts and the import."""
    settings = Settings.read(context.settings)
    surface = (THOUGHTS, ACTIONS, *tools(settings), import_tool(), *Resources(settings).all(), *prompts(settings))
    for item in surface:
        register(item)
