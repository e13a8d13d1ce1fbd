"""`engram completion`: the script that teaches a shell our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from engram_kernel.errors import InvalidInput
from engram_runtime.cli.caller import Caller

SHELLS = ("bash", "zsh", "fish")
HOW = {
    "bash": 'Put this into ~/.bashrc: eval "$(engram completion bash)"',
    "zsh": 'Put this into ~/.zshrc: eval "$(engram completion zsh)"',
    "fish": "Run: engram completion fish > ~/.config/fish/completions/engram.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise InvalidInput(f"There is no completion for {shell}.")
    root = context.find_root().command
    caller = context.ensure_object(Caller)
    script = kind(root, {}, "engram", "_ENGRAM_COMPLETE")
    text = script.source_template % script.source_vars()
    caller.show({"shell": shell, "script": text, "install": HOW[shell]}, lambda data: click.echo(f"# {data['install']}\n{text}"))
