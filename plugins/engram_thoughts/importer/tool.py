"""import_engrava: the operator's tool behind `engram import engrava FILE.db`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from engram_kernel.arguments import Arguments
from engram_kernel.call import Call
from engram_kernel.tools import Tool
from engram_thoughts.importer.report import ImportReport
from engram_thoughts.importer.run import Import
from engram_thoughts.importer.source import Source
from engram_thoughts.vocabulary import TOOL_SET


class ImportEngrava(Arguments):
    file: str = Field(min_length=1, max_length=4096, description="Path of the SQLite file")


def import_engrava(call: Call, given: ImportEngrava) -> ImportReport:
    """Raises InvalidInput when the file is no such store; the file itself is only read."""
    with Source(Path(given.file)) as source:
        return Import(call, source).run()


def import_tool() -> Tool:
    """Not an agent's tool: it reads a file of the machine."""
    return Tool(
        name="import_engrava",
        title="Import an engrava store",
        description="Bring thoughts, edges, actions and embeddings of an SQLite store of engrava over; safe to repeat.",
        group=TOOL_SET,
        handler=import_engrava,
        arguments=ImportEngrava,
        result=ImportReport,
        writes=True,
        idempotent=True,
        audience="operator",
    )
