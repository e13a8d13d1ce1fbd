"""Reading a client's hello: is it welcome, and what does its environment ask of its session."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any

from engram_kernel import __version__, config
from engram_runtime import places, wire


class HelloRefused(Exception):
    """`reason` is `protocol`, `key` or `handover`; `version` is the client's."""

    def __init__(self, reason: str, text: str, version: str = "") -> None:
        super().__init__(text)
        self.reason, self.version = reason, version


def read_hello(line: bytes, key: str | None) -> dict[str, Any]:
    """The parsed hello. Raises HelloRefused; `handover` means that a newer client wants a newer owner."""
    try:
        said = json.loads(line)
        protocol, version = int(said["engram"]), str(said["version"])
    except (ValueError, KeyError, TypeError):
        raise HelloRefused("protocol", "This is the owner of an Engram data folder; it speaks its own protocol only.") from None
    if key is not None and not hmac.compare_digest(str(said.get("key", "")), key):
        raise HelloRefused("key", "The key of the hello is not the owner's; read owner.json again.")
    if protocol > wire.PROTOCOL or wire.newer(version, __version__):
        raise HelloRefused("handover", f"Version {__version__} steps down for version {version}.", version)
    if protocol < wire.PROTOCOL:
        raise HelloRefused("protocol", f"The running owner is version {__version__}; update this installation ({version}).", version)
    return dict(said)


def session_facts(said: Mapping[str, Any], owner_config: str | None) -> dict[str, Any]:
    """What the session may do and see, by the client's own configuration, environment and flags. Raises ConfigError."""
    env = {str(name): str(value) for name, value in (said.get("env") or {}).items()}
    flags = {str(name): str(value) for name, value in (said.get("flags") or {}).items()}
    file = flags.get("config") or env.get("ENGRAM_CONFIG") or owner_config
    wanted = {
        "tools.profile": flags.get("profile"),
        "tools.enable": [name.strip() for name in flags["tools"].split(",") if name.strip()] if "tools" in flags else None,
        "read_only": True if "read_only" in flags else None,
    }
    loaded = config.load([(path, layer == "config") for layer, path in places.config_files(env, file)], env, wanted).config
    return {
        "read_only": loaded.read_only,
        "profile": loaded.tools.profile,
        "enable": loaded.tools.enable,
        "disable": loaded.tools.disable,
        "flags": flags,
        "client": str(said.get("kind", "")),
        "workspace": said.get("workspace") or None,
    }
