"""What plugins register for callers: tools, resources and prompts; and the registry that decides who sees which."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from pydantic import BaseModel

from engram_kernel.arguments import Arguments
from engram_kernel.changes import Applied
from engram_kernel.errors import ConfigError, Unknown
from engram_kernel.schema import tool_schema
from engram_kernel.session import Session

if TYPE_CHECKING:
    from engram_kernel.call import Call

PROFILES = ("standard", "project", "graph", "thoughts", "all")


@dataclass(frozen=True)
class ToolResult:
    """What a handler may return instead of a bare model: own words for the model, extra content, a native result.

    `text` None means the JSON of `data`. `native` is handed to the transport untouched.
    """

    data: BaseModel | None = None
    text: str | None = None
    native: Any = None


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool, as data. `handler` is called with (call, arguments) and returns `result`, a ToolResult or text.

    A plain function runs in a worker thread and may block on the store; a coroutine function may await the person.
    `profiles` lists the profiles that show it besides `all` and the one named like its group. Tools with the audience
    `operator` are for the command line and never shown to an agent.
    """

    name: str
    title: str
    description: str
    group: str
    handler: Callable[[Call, Any], Any]
    arguments: type[BaseModel] = Arguments
    result: type[BaseModel] | None = None
    writes: bool = False
    destructive: bool = False
    idempotent: bool = True
    audience: Literal["agent", "operator"] = "agent"
    profiles: frozenset[str] = frozenset()
    meta: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return dict(self.schema) if self.schema is not None else tool_schema(self.arguments)

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        return tool_schema(self.result, output=True) if self.result else None


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A readable address. `uri` may hold `{name}` placeholders, each matching one percent-encoded path segment.

    `touched` maps a commit to the URIs it changed, for subscribers. `complete` offers values for a placeholder.
    """

    uri: str
    name: str
    description: str
    read: Callable[[Call, Mapping[str, str]], str | bytes]
    group: str
    mime_type: str = "application/json"
    aliases: Sequence[str] = ()
    touched: Callable[[Applied], Iterable[str]] | None = None
    complete: Callable[[Call, str, str], Sequence[str]] | None = None

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [_uri_pattern(uri) for uri in (self.uri, *self.aliases)]

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded placeholder values, or None when the URI is not this resource's."""
        for pattern in self._patterns:
            if found := pattern.fullmatch(uri):
                return {name: unquote(value) for name, value in found.groupdict().items()}
        return None


def _uri_pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(re.escape(part) if at % 2 == 0 else f"(?P<{part}>[^/?#]+)" for at, part in enumerate(parts)))


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A message template; `render` returns the text of one user message. Its arguments are checked before."""

    name: str
    title: str
    description: str
    group: str
    render: Callable[[Call, Mapping[str, str]], Any]
    arguments: Sequence[PromptArgument] = ()
    complete: Callable[[Call, str, str], Sequence[str]] | None = None


class Registry:
    """All registered tools, resources and prompts, in registration order."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._resources: dict[str, Resource] = {}
        self._prompts: dict[str, Prompt] = {}

    def add(self, item: Tool | Resource | Prompt) -> None:
        """Raises ConfigError when two plugins claim one name."""
        if isinstance(item, Tool):
            _claim(self._tools, item.name, item, "tool")
        elif isinstance(item, Resource):
            _claim(self._resources, item.uri, item, "resource")
        else:
            _claim(self._prompts, item.name, item, "prompt")

    def tools(self, session: Session) -> list[Tool]:
        return [tool for tool in self._tools.values() if _shows(tool, session)]

    def tool(self, name: str, session: Session) -> Tool:
        """Raises Unknown, also for a tool that this session does not show."""
        tool = self._tools.get(name)
        if tool is None or not _shows(tool, session):
            raise Unknown(f"Unknown tool: {name}.", next_step="List the tools to see which exist.", data={"kind": "tool"})
        return tool

    def all_tools(self) -> list[Tool]:
        return list(self._tools.values())

    def resources(self, session: Session) -> list[Resource]:
        return [resource for resource in self._resources.values() if resource.group not in session.tools.disable]

    def resource(self, uri: str, session: Session) -> tuple[Resource, dict[str, str]]:
        """The resource behind a URI and its placeholder values. Raises Unknown."""
        for resource in self.resources(session):
            if (values := resource.match(uri)) is not None:
                return resource, values
        raise Unknown("Resource not found.", next_step="List the resources.", data={"kind": "resource", "uri": uri})

    def prompts(self, session: Session) -> list[Prompt]:
        return [prompt for prompt in self._prompts.values() if prompt.group not in session.tools.disable]

    def prompt(self, name: str, session: Session) -> Prompt:
        """Raises Unknown."""
        for prompt in self.prompts(session):
            if prompt.name == name:
                return prompt
        raise Unknown(f"Unknown prompt: {name}.", next_step="List the prompts.", data={"kind": "prompt"})


def _claim(table: dict[str, Any], name: str, item: object, kind: str) -> None:
    if name in table:
        raise ConfigError(f"The {kind} {name!r} is registered twice.", next_step="Disable one of the two plugins.")
    table[name] = item


def _shows(tool: Tool, session: Session) -> bool:
    if tool.audience != session.audience or (tool.writes and session.read_only):
        return False
    if tool.audience == "operator":
        return True
    choice = session.tools
    if {tool.name, tool.group} & choice.disable:
        return False
    in_profile = choice.profile in ("all", tool.group) or choice.profile in tool.profiles
    return in_profile or bool({tool.name, tool.group} & choice.enable)
