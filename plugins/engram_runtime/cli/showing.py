"""`engram show` and `engram history`: one memory in full, now and as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_kernel.errors import NotFound
from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller, pass_caller

MOST_LINKS = 50


@click.command()
@click.argument("memory_id", metavar="ID")
@pass_caller
def show(caller: Caller, memory_id: str) -> None:
    """Show a memory in full: text, metadata, validity and links in both directions."""
    found = caller.call("get_thought", {"thought_id": memory_id})
    if not found.get("found"):
        raise not_found(memory_id)
    edges = caller.call("get_edges", {"thought_id": memory_id, "direction": "BOTH"})["edges"]
    links = [_with_title(caller, memory_id, edge, place < MOST_LINKS) for place, edge in enumerate(edges)]
    caller.show({**found, "links": links}, _show)


def not_found(memory_id: str) -> NotFound:
    return NotFound(
        f"There is no memory with the id {memory_id!r}.",
        next_step="Find ids with `engram search` or `engram list`.",
        data={"id": memory_id},
    )


def _with_title(caller: Caller, memory_id: str, edge: Mapping[str, Any], look_up: bool) -> dict[str, Any]:
    outgoing = edge["from_thought_id"] == memory_id
    other = edge["to_thought_id"] if outgoing else edge["from_thought_id"]
    thought = caller.call("get_thought", {"thought_id": other}).get("thought") if look_up else None
    return {**edge, "direction": "OUT" if outgoing else "IN", "other": other, "other_essence": (thought or {}).get("essence", "")}


def _show(data: Mapping[str, Any]) -> None:
    thought = data["thought"]
    for line in output.wrap(output.clean(thought["essence"]), output.width()):
        output.heading(line)
    click.echo()
    output.fields(_facts(thought))
    if thought["content"].strip() != thought["essence"].strip():
        click.echo()
        output.paragraph(thought["content"])
    _show_links("Links to", [link for link in data["links"] if link["direction"] == "OUT"])
    _show_links("Linked from", [link for link in data["links"] if link["direction"] == "IN"])


def _facts(thought: Mapping[str, Any]) -> list[tuple[str, Any]]:
    confidence = thought.get("confidence")
    confirmed = thought.get("confirmation_count") or 0
    return [
        ("id", thought["thought_id"]),
        ("kind", output.joined([thought["thought_type"], thought["priority"], thought["lifecycle_status"]])),
        ("source", thought.get("source")),
        ("confidence", None if confidence is None else f"{confidence:.2f}"),
        ("confirmed", output.counted(confirmed, "time") if confirmed else None),
        ("valid", validity(thought)),
        ("expires", output.minute(thought.get("expires_at"))),
        ("created", output.minute(thought.get("created_at"))),
        ("changed", _changed(thought)),
        ("metadata", output.joined(f"{name}={output.value(value)}" for name, value in (thought.get("metadata") or {}).items())),
        ("pinned", "yes" if thought.get("pinned") else None),
    ]


def _changed(thought: Mapping[str, Any]) -> str | None:
    return output.minute(thought.get("updated_at")) if thought.get("updated_at") != thought.get("created_at") else None


def validity(record: Mapping[str, Any]) -> str | None:
    """The valid time in words; None when it is open on both sides."""
    start, end = record.get("valid_from"), record.get("valid_until")
    if start and end:
        return f"from {output.minute(start)} until {output.minute(end)}"
    if start:
        return f"from {output.minute(start)}"
    return f"until {output.minute(end)}" if end else None


def _show_links(title: str, links: Sequence[Mapping[str, Any]]) -> None:
    if not links:
        return
    click.echo()
    output.heading(title)
    for link in links:
        weight = "" if link["weight"] == 1 else f" {link['weight']:.2f}"
        known = output.one_line(link["other_essence"], output.width() - 24)
        click.echo(f"  {link['edge_type'] + weight:<19} {output.clean(known)}".rstrip())
        output.note(f"  {'':<19} {output.joined([link['other'], validity(link)])}")


@click.command()
@click.argument("memory_id", metavar="ID")
@pass_caller
def history(caller: Caller, memory_id: str) -> None:
    """Show every revision of a memory, oldest first, with what changed."""
    found = caller.call("get_thought", {"thought_id": memory_id, "include_history": True})
    if not found.get("history"):
        raise not_found(memory_id)
    caller.show(found, _show_history)


COMPARED = {
    "essence": "title",
    "content": "text",
    "thought_type": "type",
    "priority": "priority",
    "lifecycle_status": "status",
    "confidence": "confidence",
    "source": "source",
    "valid_from": "valid from",
    "valid_until": "valid until",
    "expires_at": "expires",
    "metadata": "metadata",
    "confirmation_count": "confirmed",
    "pinned": "pinned",
}
NOTHING: tuple[Any, ...] = (None, "", {}, False, 0)


def _show_history(data: Mapping[str, Any]) -> None:
    earlier: Mapping[str, Any] = {}
    entries = list(reversed(data["history"]))
    for entry in entries:
        thought = entry["thought"]
        output.heading(output.joined([f"revision {entry['revision']}", output.minute(thought["updated_at"]), entry["state"]]))
        for name, label in COMPARED.items():
            old, new = earlier.get(name), thought.get(name)
            if old != new and not (old in NOTHING and new in NOTHING):
                _show_change(label, new)
        click.echo()
        earlier = thought
    total = data.get("history_total") or len(entries)
    partly = f"the latest {len(entries)} of " if total > len(entries) else ""
    output.note(f"{partly}{output.counted(total, 'revision')}")


def _show_change(label: str, value: Any) -> None:
    text = "(none)" if value in NOTHING else output.one_line(output.value(value), output.width() - 16)
    click.echo(f"  {click.style(f'{label:<12}', dim=True)} {output.clean(text)}")
