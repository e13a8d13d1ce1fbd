"""The plugin manifest (`engram-plugin.yaml`): what a plugin is, needs and may do, readable without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from engram_kernel import API_VERSION
from engram_kernel.discovery import Found
from engram_kernel.errors import PluginFailed
from engram_kernel.model import Tier

_TYPES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Capabilities(_Strict):
    """What the plugin may do; without `writes` it gets a facade that cannot write."""

    reads: list[Tier] = Field([Tier.PUBLIC, Tier.PERSONAL], description="Sensitivity tiers it may read")
    writes: bool = Field(False, description="Whether it may change the store")
    network: bool = Field(False, description="Whether it opens network connections")


class Setting(_Strict):
    """One setting of the plugin, in `plugins.settings.<name>` of engram.yaml."""

    type: Literal["string", "integer", "number", "boolean", "list"] = Field(description="Type of the value")
    description: str = Field(description="One line for the configuration reference")
    default: str | int | float | bool | list[str] | None = Field(None, description="Value when not set")
    minimum: float | None = Field(None, description="Smallest number")
    maximum: float | None = Field(None, description="Largest number")
    choices: list[str] | None = Field(None, description="Allowed strings")

    def field(self) -> tuple[Any, Any]:
        """The pydantic field definition of this setting."""
        kind: Any = list[str] if self.type == "list" else _TYPES[self.type]
        if self.choices:
            kind = Literal[tuple(self.choices)]
        bounds: dict[str, Any] = {name: value for name, value in (("ge", self.minimum), ("le", self.maximum)) if value is not None}
        optional = kind | None if self.default is None else kind
        return optional, Field(self.default, description=self.description, **bounds)


class Command(_Strict):
    """A command of the `engram` command line; imported only when it is run."""

    name: str = Field(description="Name after `engram`")
    summary: str = Field(description="One line for the help")
    run: str = Field(description="`module:attribute` of a click command")


class Manifest(_Strict):
    """The whole manifest."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$", description="Name of the plugin, the same as its entry point")
    title: str = Field(description="Name for people")
    summary: str = Field(description="One line: what it adds")
    api: int = Field(description="Version of the kernel's plugin interface it was written for")
    hooks: list[str] = Field([], description="Hooks it implements")
    capabilities: Capabilities = Field(Capabilities(), description="What it may do")
    settings: dict[str, Setting] = Field({}, description="Its settings")
    commands: list[Command] = Field([], description="Its commands")

    def settings_model(self) -> type[BaseModel]:
        """A strict model of the plugin's settings."""
        fields: dict[str, Any] = {name: setting.field() for name, setting in self.settings.items()}
        return create_model(f"{self.name}_settings", __base__=_Strict, **fields)

    def read_settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Validated settings with defaults. Raises pydantic.ValidationError."""
        return self.settings_model().model_validate(dict(values)).model_dump()


def read_manifest(found: Found) -> Manifest:
    """Raises PluginFailed with one readable line."""
    try:
        manifest = Manifest.model_validate(found.raw_manifest)
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise PluginFailed(f"The manifest of {found.name!r} cannot be used: {describe(error)}.") from error
    if manifest.name != found.name:
        raise PluginFailed(f"The manifest of {found.name!r} names the plugin {manifest.name!r}.")
    if manifest.api != API_VERSION:
        raise PluginFailed(f"The plugin {found.name!r} is written for plugin interface {manifest.api}; this kernel has {API_VERSION}.")
    return manifest


def describe(error: BaseException) -> str:
    """One line about an exception, without its traceback."""
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False))
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
