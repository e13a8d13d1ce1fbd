"""`engram serve`: the owner in the foreground, kept running, with HTTP where it is asked for."""

from __future__ import annotations

import click

from engram_runtime.cli.caller import Caller, pass_caller

HTTP = "http"


@click.command()
@click.option("--http", is_flag=True, help="Serve MCP over HTTP as well.")
@click.option("--host", metavar="ADDRESS", help="Address to listen on; default 127.0.0.1.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on.")
@click.option("--service", "services", metavar="NAME", multiple=True, help="Another service of a plugin.")
@click.option("--option", "extra", metavar="NAME=VALUE", multiple=True, help="An option of a service.")
@pass_caller
def serve(caller: Caller, *, http: bool, host: str | None, port: int | None, services: tuple[str, ...], extra: tuple[str, ...]) -> None:
    """Keep the owner process running in the foreground until Ctrl-C; agents connect to it as to any other."""
    options = dict(_pair(item) for item in extra)
    options |= {name: value for name, value in (("host", host), ("port", None if port is None else str(port))) if value is not None}
    if (host is not None or port is not None) and not http:
        raise click.UsageError("--host and --port need --http.")
    names = [HTTP, *services] if http else list(services)
    from engram_runtime.foreground import run_foreground

    folder = caller.make_folder()
    click.echo(f"engram: serving {folder}{' with ' + ', '.join(names) if names else ''}; Ctrl-C stops.", err=True)
    run_foreground(folder, caller.config, names, options)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--option {text!r} is not NAME=VALUE.")
    return name, value
