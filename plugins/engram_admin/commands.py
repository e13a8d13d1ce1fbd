"""`engram log`: the operation log for a person. Imported only when it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from engram_kernel.services import Client


@click.command()
@click.option("--after", type=click.IntRange(0), help="Start behind this sequence number; default: show the latest.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Most entries.")
@click.option("--payload", is_flag=True, help="Add what each entry recorded.")
@click.pass_obj
def log(client: Client, after: int | None, limit: int, payload: bool) -> None:
    """Show the operation log: every write, in order, with who made it."""
    if after is None:
        after = max(0, client.call("events", {"limit": 1}, operator=True)["last_sequence"] - limit)
    client.show(client.call("events", {"after": after, "limit": limit, "payload": payload}, operator=True), _show)


def _show(data: Mapping[str, Any]) -> None:
    for event in data["events"]:
        moment = event["recorded_at"][:19].replace("T", " ")
        click.echo(f"{event['sequence']:>8}  {moment} UTC  {event['operation']:<12}  {_plain(event['actor'])}".rstrip())
        if event["payload"] is not None:
            click.secho(f"          {_plain(event['payload'])}", dim=True)
    click.secho(f"{len(data['events'])} of {data['last_sequence']:,} entries{_more(data)}", dim=True)


def _more(data: Mapping[str, Any]) -> str:
    return f"; more with --after {data['next_after']}" if data["next_after"] is not None else ""


def _plain(text: str) -> str:
    """Stored text must not drive the terminal."""
    return text if text.isprintable() else json.dumps(text)
