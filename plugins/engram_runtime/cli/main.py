"""`engram`: the entry point, and the one place where failures become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from engram_kernel import __version__
from engram_kernel.errors import EngramError
from engram_runtime.cli import failures
from engram_runtime.cli.caller import Caller, caller_of
from engram_runtime.cli.lazy import PluginCommands, global_options

EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in failures.EXIT_CODES.items()) + "."


@click.group(
    cls=PluginCommands,
    params=list(global_options()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(__version__, "--version", prog_name="engram", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """One memory for every AI agent on this machine, and it belongs to you."""
    caller_of(context)
    if os.environ.get("NO_COLOR"):
        context.color = False


def main(arguments: Sequence[str] | None = None, caller: Caller | None = None) -> int:
    """Run one command line and return the exit code; nothing escapes, Ctrl-C and a closed pipe included."""
    caller = caller or Caller()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words, caller)
    except BrokenPipeError:
        _silence_stdout()
        return failures.FAILURE
    finally:
        caller.close()


def _run(words: list[str], caller: Caller) -> int:
    try:
        result = cli.main(words, prog_name="engram", standalone_mode=False, obj=caller)
        sys.stdout.flush()
        return result if isinstance(result, int) else failures.OK
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return failures.USAGE
    except click.ClickException as error:
        return failures.report_usage(error, as_json=caller.json or "--json" in words)
    except EngramError as error:
        return failures.report(error, as_json=caller.json)
    except (click.Abort, KeyboardInterrupt):
        click.echo("engram: stopped.", err=True)
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        return failures.report_crash(error, as_json=caller.json)


def _silence_stdout() -> None:
    """The reader went away: nothing more can be said, and Python must not complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
