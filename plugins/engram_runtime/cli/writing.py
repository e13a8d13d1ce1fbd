"""`engram add` and `engram link`: writing from the command line."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import click

from engram_kernel.errors import InvalidInput
from engram_runtime.cli.caller import Caller, pass_caller
from engram_runtime.cli.vocabulary import EDGE_TYPES, PRIORITIES, THOUGHT_TYPES

ESSENCE_LIMIT = 200
SOURCE = "person"


@click.command()
@click.argument("text")
@click.option("--essence", help="Title of at most 200 characters; default: the first sentence of TEXT.")
@click.option("--type", "kind", type=click.Choice(THOUGHT_TYPES, case_sensitive=False), default="NOTE", show_default=True, help="Kind.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), default="P3", show_default=True, help="P1 is the highest.")
@click.option("--meta", metavar="KEY=VALUE", multiple=True, help='Metadata; numbers, true, false and null are read as such, "3" as text.')
@click.option("--dedup", is_flag=True, help="Confirm the memory with the same text instead of storing it twice.")
@pass_caller
def add(caller: Caller, text: str, *, essence: str | None, kind: str, priority: str, meta: tuple[str, ...], dedup: bool) -> None:
    """Store TEXT as a memory; `-` reads it from standard input."""
    content = read_text(text)
    arguments: dict[str, Any] = {
        "essence": essence if essence is not None else first_sentence(content),
        "content": content,
        "thought_type": kind,
        "priority": priority,
        "source": SOURCE,
        "deduplicate": dedup,
    }
    if meta:
        arguments["metadata"] = dict(pair(item) for item in meta)
    caller.show(caller.call("store_thought", arguments), _stored)


def _stored(data: Any) -> None:
    thought = data["thought"]
    word = "Stored" if data.get("created", True) else "Already known, confirmed"
    click.echo(f"{click.style(word, fg='green')} {thought['thought_id']}")
    from engram_runtime.cli import output

    output.note(f"  {output.one_line(thought['essence'], output.width() - 4)}")
    if ignored := data.get("ignored"):
        output.note(f"  It kept its own {', '.join(ignored)}.")


@click.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option(
    "--type", "kind", type=click.Choice(EDGE_TYPES, case_sensitive=False), default="ASSOCIATED", show_default=True, help="Relation."
)
@click.option("--weight", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Strength.")
@pass_caller
def link(caller: Caller, source: str, target: str, kind: str, weight: float) -> None:
    """Link the memory FROM to the memory TO; both are ids."""
    arguments = {"from_thought_id": source, "to_thought_id": target, "edge_type": kind, "weight": weight}
    caller.show(caller.call("link_thoughts", arguments), _linked)


def _linked(data: Any) -> None:
    edge = data["edge"]
    click.echo(f"{click.style('Linked', fg='green')} {edge['edge_id']}")
    click.secho(f"  {edge['from_thought_id']} {edge['edge_type']} {edge['to_thought_id']}", dim=True)


def read_text(text: str) -> str:
    """The text itself, or all of standard input for `-`. Raises InvalidInput for nothing or for what is not UTF-8."""
    if text == "-":
        try:
            text = sys.stdin.buffer.read().decode("utf-8-sig") if hasattr(sys.stdin, "buffer") else sys.stdin.read()
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"Standard input is not UTF-8 text (byte {error.start}).", next_step="Convert it first, for example with iconv."
            ) from None
    if not text.strip():
        raise InvalidInput("There is no text to store.", next_step="Give it as TEXT, or pipe it in with `-`.")
    return text


def first_sentence(text: str, limit: int = ESSENCE_LIMIT) -> str:
    """The first line, or its first sentence, at most `limit` characters long and cut at a word border."""
    line = next(stripped for each in text.splitlines() if (stripped := each.strip(" \t#*>-") or each.strip()))
    sentence = re.match(r".+?[.!?。！？](?=\s|$)", line) if not line.isspace() else None
    title = sentence[0] if sentence and len(sentence[0]) >= 12 else line
    if len(title) <= limit:
        return title
    head = title[: limit - 1]
    cut = head.rsplit(None, 1)[0] if not title[limit - 1].isspace() and re.search(r"\s", head) else head.rstrip()
    return f"{cut.rstrip(' ,;:')}…"


def pair(text: str) -> tuple[str, Any]:
    """KEY=VALUE with a JSON scalar, else plain text. Raises InvalidInput."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InvalidInput(f"--meta {text!r} is not KEY=VALUE.")
    try:
        read = json.loads(value, parse_constant=lambda name: name)
    except ValueError:
        return key.strip(), value
    return key.strip(), value if isinstance(read, list | dict) else read
