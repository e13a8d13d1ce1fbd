"""`engram restore`: put a backup in the place of the store. The old store is moved aside, never deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from engram_kernel.errors import AlreadyExists, EngramError, InvalidInput, LeaseHeld, StoreUnusable
from engram_runtime import lease
from engram_runtime.cli import output, progress
from engram_runtime.cli.caller import Caller, pass_caller

KEPT = frozenset({lease.LOCK, lease.RECORD, lease.HANDOVER, "owner.log", "engram.yaml", "backup", "replaced", "http.token"})
"""What is not part of the store and stays where it is."""
STAGING = "restoring"
PATIENCE = 15.0
"""Seconds for an owner to leave after it was asked to."""


@click.command()
@click.argument("backup", metavar="BACKUP", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace an existing store; it is moved into replaced/ of the data folder.")
@pass_caller
def restore(caller: Caller, backup: Path, force: bool) -> None:
    """Fill the data folder from a backup. Agents must be closed; the old store is kept with --force."""
    source = backup.expanduser().absolute()
    if not source.is_dir():
        raise InvalidInput(f"{source} is not a backup folder.", next_step="Give the folder that `engram backup` wrote.")
    folder = caller.make_folder()
    if stored(folder) and not force:
        raise AlreadyExists(f"{folder} already holds a store.", next_step="Add --force to move it aside, or choose another --data.")
    with held(caller, folder), progress.shown(caller, "Restoring"):
        result = _replace(caller, folder, source)
    caller.show(result, _show)


def stored(folder: Path) -> list[Path]:
    """The files and folders that make up a store, derived ones included."""
    return sorted(path for path in folder.iterdir() if path.name not in KEPT and path.name != STAGING)


@contextmanager
def held(caller: Caller, folder: Path) -> Iterator[None]:
    """Hold the lease, asking an idle owner to leave. Raises LeaseHeld."""
    _ask_to_leave(caller)
    own = lease.Lease(folder)
    end = time.monotonic() + PATIENCE
    while not own.acquire():
        if time.monotonic() > end:
            raise LeaseHeld(f"{folder} is still held by another process.", next_step="Close the agents that use it, then try again.")
        time.sleep(0.05)
    try:
        yield
    finally:
        own.release()


def _ask_to_leave(caller: Caller) -> None:
    try:
        owner = caller.connected(start=False)
    except EngramError:
        # None runs, or none that answers: the lease decides.
        return
    others = int(owner.request("status", {})["sessions"]) - 1
    if others > 0:
        what = f"{output.counted(others, 'other session')} connected to this store."
        raise LeaseHeld(what, next_step="Close the agents that use it, then try again.")
    owner.request("stop", {})
    caller.close()


def _replace(caller: Caller, folder: Path, source: Path) -> dict[str, Any]:
    staging = folder / STAGING
    if staging.exists():
        raise StoreUnusable(f"{staging} is left from an interrupted restore.", next_step="Look at it and remove it, then try again.")
    staging.mkdir(mode=0o700)
    try:
        manifest = _restore_into(caller, staging, source)
    except BaseException:
        _discard(staging)
        raise
    aside = _exchange(folder, staging)
    return {"restored_from": str(source), "data": str(folder), "moved_aside": str(aside) if aside else None, "manifest": dict(manifest)}


def _restore_into(caller: Caller, staging: Path, source: Path) -> Mapping[str, Any]:
    """Restore into an empty folder, so that a bad backup is known before anything is moved."""
    from engram_kernel.kernel import Kernel
    from engram_kernel.plugins import Plugins
    from engram_runtime import logs
    from engram_runtime.cli.config import load

    logs.configure("error")
    config = load(caller).config
    plugins = Plugins()
    plugins.load(config.plugins.disabled, config.plugins.settings)
    provider, settings = Kernel.provider(plugins, staging)
    return provider.restore(staging, source, settings)


def _discard(staging: Path) -> None:
    import shutil

    shutil.rmtree(staging, ignore_errors=True)


def _exchange(folder: Path, staging: Path) -> Path | None:
    """Move the old store aside and the new one in. Undone, last move first, when a move fails."""
    old = stored(folder)
    aside = folder / "replaced" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    moves = [(path, aside / path.name) for path in old]
    moves += [(path, folder / path.name) for path in sorted(staging.iterdir()) if path.name not in KEPT]
    if old:
        aside.parent.mkdir(mode=0o700, exist_ok=True)
        aside.mkdir(mode=0o700)
    done: list[tuple[Path, Path]] = []
    try:
        for origin, target in moves:
            origin.rename(target)
            done.append((origin, target))
    except OSError as error:
        _undo(done)
        raise StoreUnusable(
            f"The files could not be exchanged: {error}.", changed="The old store is back in its place.", next_step=f"See {staging}."
        ) from error
    _discard(staging)
    return aside if old else None


def _undo(done: list[tuple[Path, Path]]) -> None:
    for origin, target in reversed(done):
        target.rename(origin)


def _show(data: Mapping[str, Any]) -> None:
    click.echo(f"{output.mark('ok')}  Restored into {data['data']}")
    if data["moved_aside"]:
        output.note(f"  The old store is in {data['moved_aside']}; delete it when you no longer need it.")
    output.note("  Next: engram verify --deep")
