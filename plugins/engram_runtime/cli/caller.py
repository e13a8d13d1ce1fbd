"""`Caller`: what every command finds in click's context object; it connects to the owner only when it is needed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import click

from engram_kernel.errors import LeaseHeld, StoreUnusable, Unknown
from engram_runtime import places

P = ParamSpec("P")
R = TypeVar("R")
Progress: TypeAlias = Callable[[float, float | None, str | None], None]


class Connected(Protocol):
    """The part of the owner's client that the command line uses."""

    folder: Path

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False, progress: Progress | None = None
    ) -> Any: ...

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any: ...

    def close(self) -> None: ...


class Connect(Protocol):
    """Opens a connection. Raises EngramError."""

    def __call__(self, env: Mapping[str, str], *, config: str | None, data: str | None, json: bool, start: bool) -> Connected: ...


class Caller:
    """Implements the kernel's `Client`. `config`, `data` and `json` are the global options, settled before a command runs."""

    def __init__(self, connect: Connect | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.env = places.environment(os.environ if environ is None else environ)
        self.config: str | None = None
        self.data: str | None = None
        self.json = False
        self._connect = connect
        self._client: Connected | None = None

    @property
    def folder(self) -> Path:
        """The data folder, known without an owner."""
        return places.data_folder(self.env, self.config, self.data)

    @property
    def config_file(self) -> Path:
        """The configuration file that an edit goes to: the given one, else the user's."""
        return places.config_files(self.env, self.config)[-1][1]

    def connected(self, *, start: bool = True) -> Connected:
        """The connection to the owner. Raises EngramError; LeaseHeld when none runs and `start` is off."""
        if self._client is None:
            self._client = self._running_or_started() if start else self._reach(start=False)
        return self._client

    def _running_or_started(self) -> Connected:
        """An owner that would stumble over the configuration is not started: its error could only be read in the log."""
        try:
            return self._reach(start=False)
        except LeaseHeld:
            self.check_configuration()
            return self._reach(start=True)

    def _reach(self, *, start: bool) -> Connected:
        try:
            return (self._connect or _owner())(self.env, config=self.config, data=self.data, json=self.json, start=start)
        except OSError as error:
            raise self._unusable(error) from error

    def make_folder(self) -> Path:
        """The data folder, made when it is missing. Raises StoreUnusable."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise self._unusable(error) from error
        return self.folder

    def _unusable(self, error: OSError) -> StoreUnusable:
        what = f"The data folder {self.folder} cannot be used: {error.strerror or error}."
        return StoreUnusable(what, next_step="Correct its owner and mode, or choose another with --data.")

    def check_configuration(self) -> None:
        """Raises ConfigError naming layer, line and key."""
        from engram_kernel import config

        files = [(path, layer == "config") for layer, path in places.config_files(self.env, self.config)]
        config.load(files, self.env)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False, progress: Progress | None = None
    ) -> Any:
        try:
            return self.connected().call(tool, dict(arguments or {}), operator=operator, progress=progress)
        except Unknown as error:
            if error.data.get("kind") != "tool":
                raise
            what = f"{tool} is not available: memory is read-only here, or the plugin that brings it is switched off."
            raise Unknown(what, next_step="See `engram config show` and `engram plugins list`.", data=error.data) from None

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        return self.connected().request(method, dict(params or {}))

    def show(self, data: Any, render: Callable[[Any], None]) -> None:
        if self.json:
            print_json(data)
        else:
            render(data)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def print_json(data: Any) -> None:
    """One JSON document on stdout, in the characters that the terminal can show."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    click.echo(json.dumps(data, indent=2, ensure_ascii=plain, default=str))


def _owner() -> Connect:
    from engram_runtime.client import OwnerClient

    return OwnerClient.connect


def caller_of(context: click.Context) -> Caller:
    """The Caller of this run; made on first use. Contexts below the root inherit it."""
    root = context.find_root()
    if not isinstance(root.obj, Caller):
        root.obj = Caller()
    return root.obj


def pass_caller(command: Callable[Concatenate[Caller, P], R]) -> Callable[P, R]:
    """Decorator: the command gets the Caller as its first argument."""
    return click.make_pass_decorator(Caller, ensure=True)(command)
