"""`engram.yaml`: defaults < user file < `--config`/`ENGRAM_CONFIG` < environment < flags, each checked and traceable."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engram_kernel.discovery import discover
from engram_kernel.errors import ConfigError
from engram_kernel.manifest import read_manifest
from engram_kernel.session import ToolChoice


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LogConfig(_Section):
    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest level that is logged")
    file: str | None = Field(None, description="Log file; default owner.log in the data folder")


class OwnerConfig(_Section):
    idle_seconds: float = Field(60, ge=0, le=86_400, description="The owner process leaves this long after its last client")
    workers: int = Field(16, ge=1, le=256, description="Tool calls that run at the same time")


class ToolsConfig(_Section):
    profile: Literal["standard", "project", "graph", "thoughts", "all"] = Field("standard", description="Which tools an agent sees")
    enable: list[str] = Field([], description="Groups or tools shown besides the profile")
    disable: list[str] = Field([], description="Groups or tools never shown; wins over everything else")


class PluginsConfig(_Section):
    disabled: list[str] = Field([], description="Plugins that are not loaded")
    settings: dict[str, dict[str, Any]] = Field({}, description="Settings of each plugin, by its name")


class Config(_Section):
    """The whole configuration."""

    data: str | None = Field(None, description="Data folder; must be written on one line of its own")
    read_only: bool = Field(False, description="Serve without any tool that writes")
    log: LogConfig = LogConfig()
    owner: OwnerConfig = OwnerConfig()
    tools: ToolsConfig = ToolsConfig()
    plugins: PluginsConfig = PluginsConfig()

    def tool_choice(self) -> ToolChoice:
        return ToolChoice(self.tools.profile, frozenset(self.tools.enable), frozenset(self.tools.disable))


TRUE_WORDS = frozenset({"1", "true", "yes", "on"})

ENVIRONMENT: Mapping[str, tuple[str, Literal["text", "flag", "list"]]] = {
    "ENGRAM_DATA": ("data", "text"),
    "ENGRAM_READ_ONLY": ("read_only", "flag"),
    "ENGRAM_LOG_LEVEL": ("log.level", "text"),
    "ENGRAM_LOG_FILE": ("log.file", "text"),
    "ENGRAM_OWNER_IDLE_SECONDS": ("owner.idle_seconds", "text"),
    "ENGRAM_PROFILE": ("tools.profile", "text"),
    "ENGRAM_TOOLS": ("tools.enable", "list"),
    "ENGRAM_DISABLE_TOOLS": ("tools.disable", "list"),
    "ENGRAM_DISABLE_PLUGINS": ("plugins.disabled", "list"),
}
"""Environment variable to (key, form). A list is separated by commas."""


@dataclass(frozen=True)
class Loaded:
    """The configuration with the origin of every key that is not a default."""

    config: Config
    origins: Mapping[str, str]


@dataclass
class _Layer:
    name: str
    values: dict[str, Any]
    lines: Mapping[str, int]


def load(files: Sequence[tuple[Path, bool]], env: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Loaded:
    """Read all layers: (file, must exist) with the lowest priority first, then the environment, then dotted-key flags.

    Raises ConfigError naming the layer, the offending key and its line.
    """
    layers = [_read_file(path, required) for path, required in files]
    layers.append(_Layer("environment", _environment(env), {}))
    layers.append(_Layer("flags", _nested({key: value for key, value in (flags or {}).items() if value is not None}), {}))
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        _check(layer)
        _merge(merged, layer.values, origins, layer.name, "")
    return Loaded(Config.model_validate(merged), origins)


def _read_file(path: Path, required: bool) -> _Layer:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if required:
            raise ConfigError(f"The configuration file {path} does not exist.", next_step="Correct --config or ENGRAM_CONFIG.") from None
        return _Layer(str(path), {}, {})
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error}.") from None
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{where}: not valid YAML: {getattr(error, 'problem', error)}.") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: the file must be a mapping of keys to values.")
    lines = dict(_lines(node, ""))
    if "data" in values and not re.search(r"^data:[ \t]+[^|>\s{\[&*!]", text, re.MULTILINE):
        raise ConfigError(f"{path} line {lines['data']}: data must be one plain line, such as `data: /path/to/folder`.")
    return _Layer(str(path), _references(values, path, lines, ""), lines)


def _lines(node: Any, path: str) -> list[tuple[str, int]]:
    """(dotted key, line) of every key."""
    found: list[tuple[str, int]] = []
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = f"{path}.{key.value}" if path else str(key.value)
            found.append((name, key.start_mark.line + 1))
            found += _lines(value, name)
    return found


def _references(value: Any, path: Path, lines: Mapping[str, int], key: str) -> Any:
    """Replace values that are wholly `${NAME}` by the environment variable; unset is an error."""
    if isinstance(value, dict):
        return {name: _references(item, path, lines, f"{key}.{name}" if key else str(name)) for name, item in value.items()}
    if isinstance(value, str) and (match := re.fullmatch(r"\$\{(\w+)\}", value)):
        if (found := os.environ.get(match[1])) is None:
            raise ConfigError(f"{path} line {lines.get(key, 1)}: {key}: the environment variable {match[1]} is not set.")
        return found
    return value


def _environment(env: Mapping[str, str]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for variable, (key, form) in ENVIRONMENT.items():
        if variable in env:
            text = env[variable].strip()
            forms = {
                "text": text,
                "flag": text.lower() in TRUE_WORDS,
                "list": [part.strip() for part in text.split(",") if part.strip()],
            }
            flat[key] = forms[form]
    return _nested(flat)


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for dotted, value in flat.items():
        *parents, leaf = dotted.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree


def _check(layer: _Layer) -> None:
    """Plugin settings are checked against the manifests; an unknown plugin's are left for its installation."""
    faults = _faults(Config, layer.values)
    wanted = {} if faults else (layer.values.get("plugins") or {}).get("settings") or {}
    for found in discover() if wanted else ():
        if found.name in wanted:
            model = read_manifest(found).settings_model()
            faults += _faults(model, wanted[found.name], ("plugins", "settings", found.name))
    if faults:
        raise ConfigError("; ".join(_explain(layer, *fault) for fault in faults) + ".")


def _faults(model: type[BaseModel], values: Any, place: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], str, str]]:
    """(location, kind, text) of each fault."""
    try:
        model.model_validate(values)
    except ValidationError as error:
        return [((*place, *item["loc"]), item["type"], item["msg"]) for item in error.errors(include_url=False)]
    return []


def _explain(layer: _Layer, location: tuple[Any, ...], kind: str, text: str) -> str:
    names = [".".join(str(part) for part in location[:end]) for end in range(len(location), 0, -1)]
    key, line = names[0], next((layer.lines[name] for name in names if name in layer.lines), None)
    where = f"{layer.name} line {line}" if line else layer.name
    return f"{where}: {key}: " + (f"unknown key{_suggest(location)}" if kind == "extra_forbidden" else text)


def _suggest(location: Sequence[Any]) -> str:
    model: Any = Config
    for part in location[:-1]:
        model = getattr(model.model_fields.get(part), "annotation", None) if hasattr(model, "model_fields") else None
    known = list(getattr(model, "model_fields", {}))
    close = difflib.get_close_matches(str(location[-1]), known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _merge(into: dict[str, Any], values: Mapping[str, Any], origins: dict[str, str], layer: str, path: str) -> None:
    for key, value in values.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict) and isinstance(into.get(key, {}), dict):
            _merge(into.setdefault(key, {}), value, origins, layer, name)
        else:
            into[key] = value
            origins[name] = layer
