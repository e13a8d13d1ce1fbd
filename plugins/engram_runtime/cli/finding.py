"""`engram search` and `engram list`: finding memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller, pass_caller
from engram_runtime.cli.vocabulary import PRIORITIES, STATUSES, THOUGHT_TYPES

WIDE = 110
"""From this many columns on, a list has its ids in a column of their own."""


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most hits to show.")
@click.option("--type", "kind", type=click.Choice(THOUGHT_TYPES, case_sensitive=False), help="Only this kind.")
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Only this priority.")
@click.option("--explain", is_flag=True, help="Show what each signal added to the score.")
@pass_caller
def search(caller: Caller, query: tuple[str, ...], *, limit: int, kind: str | None, priority: str | None, explain: bool) -> None:
    """Search by meaning and words; quotes make a phrase."""
    arguments = {"query_text": " ".join(query), "top_k": limit, "thought_type": kind, "priority": priority, "explain": True}
    caller.show(caller.call("search_memory", _given(arguments)), lambda data: _show_hits(data, explain))


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _show_hits(data: Mapping[str, Any], explain: bool) -> None:
    hits = data["results"]
    if said := data.get("note"):
        click.echo(f"{output.mark('warning')}  {output.clean(str(said))}")
    for place, hit in enumerate(hits, 1):
        _show_hit(place, hit, explain)
    output.note(output.joined([_count(data), *_remarks(data)]))
    if failed := data.get("failed_backends"):
        click.echo(f"{output.mark('warning')}  Without {', '.join(failed)}, which failed; see `engram doctor`.")


def _count(data: Mapping[str, Any]) -> str:
    shown, total = len(data["results"]), data.get("total")
    if not shown:
        return "Nothing found"
    return f"{shown} of {total} hits" if total and total > shown else output.counted(shown, "hit")


def _remarks(data: Mapping[str, Any]) -> list[str]:
    filtered = data.get("filtered")
    remarks = [f"{filtered['matched']} of {filtered['scanned']} passed the filter"] if filtered else []
    return [*remarks, f"ranked by {', '.join(data['backends_used'])}"] if data.get("backends_used") else remarks


def _show_hit(place: int, hit: Mapping[str, Any], explain: bool) -> None:
    title = output.clean(output.one_line(str(hit.get("essence") or "(untitled)"), output.width() - 22))
    score = float(hit["score"])
    click.echo(f"{place:>2}  {click.style(output.bar(score), fg='cyan')} {score:.2f}  {click.style(title, bold=True)}")
    ended = f"valid until {output.day(hit['valid_until'])}" if hit.get("valid_until") else None
    status = hit.get("lifecycle_status")
    facts = [hit["thought_id"], output.day(hit.get("updated_at")), status if status != "CREATED" else None, ended]
    output.note(f"    {output.joined(facts)}")
    if reason := _reason(hit, explain):
        for line in output.wrap(output.clean(reason), output.width() - 4):
            output.note(f"    {line}")
    click.echo()


def _reason(hit: Mapping[str, Any], explain: bool) -> str:
    """Why this was found: the strongest signals, or with `explain` all of them with their shares and details."""
    details: Mapping[str, str] = hit.get("details") or {}
    shares: Mapping[str, float] = hit.get("signals") or {}
    ranked = sorted(((name, share) for name, share in shares.items() if share), key=lambda item: -item[1])
    if explain:
        return output.joined(_signal(name, share, details) for name, share in ranked)
    return output.joined(f"{name}: {details[name]}" if details.get(name) else name for name, _ in ranked[:2])


def _signal(name: str, share: float, details: Mapping[str, str]) -> str:
    detail = details.get(name)
    return f"{name} {share:.2f}{f' ({detail})' if detail else ''}"


@click.command("list")
@click.option("--type", "kind", type=click.Choice(THOUGHT_TYPES, case_sensitive=False), help="Only this kind.")
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only in this state.")
@click.option("--limit", type=click.IntRange(1, 5000), default=20, show_default=True, help="Rows on a page.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Rows to pass over.")
@pass_caller
def list_memories(caller: Caller, kind: str | None, status: str | None, limit: int, offset: int) -> None:
    """List memories, the most recently changed first."""
    arguments = {"thought_type": kind, "lifecycle_status": status, "limit": limit, "offset": offset}
    caller.show(caller.call("list_memory", _given(arguments)), _show_list)


def _show_list(data: Mapping[str, Any]) -> None:
    thoughts: Sequence[Mapping[str, Any]] = data["thoughts"]
    if not thoughts:
        output.note("No memory here." if not data["offset"] else "No memory past this offset.")
        return
    wide = output.width() >= WIDE
    columns: list[output.Column] = [("Date", {"no_wrap": True}), ("Type", {"no_wrap": True}), ("Pr", {}), ("State", {"no_wrap": True})]
    columns += [("Memory", {"ratio": 1})]
    columns += [("Id", {"no_wrap": True})] if wide else []
    output.table(columns, (_row(thought, wide) for thought in thoughts))
    click.echo()
    output.note(_page(data))


def _row(thought: Mapping[str, Any], wide: bool) -> list[Any]:
    start = [output.day(thought["updated_at"]), thought["thought_type"], thought["priority"], thought["lifecycle_status"]]
    if wide:
        return [*start, thought["essence"], thought["thought_id"]]
    from rich.text import Text

    return [*start, Text.assemble(output.clean(thought["essence"]), "\n", (thought["thought_id"], "dim"))]


def _page(data: Mapping[str, Any]) -> str:
    first, last = data["offset"] + 1, data["offset"] + data["count"]
    text = f"{first} to {last} of {data['total']:,}"
    return f"{text}; more with --offset {data['next_offset']}" if data.get("next_offset") else text
