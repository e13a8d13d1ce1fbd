"""Write the generated reference pages; with `--check`, only say which of them are out of date.

The configuration page comes from the settings model and the plugin manifests, the tools page from the registry of a
started kernel, the hooks page from the hook specifications, and quoted files are copied into the pages that quote them.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from engram_kernel.config import ENVIRONMENT, Config
from engram_kernel.discovery import discover
from engram_kernel.hookspecs import Hooks
from engram_kernel.kernel import Kernel
from engram_kernel.manifest import Manifest
from engram_kernel.tools import Prompt, Registry, Resource, Tool
from engram_runtime import logs
from engram_runtime.cli.failures import EXIT_CODES
from engram_runtime.cli.lazy import load

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT_IN = "engram-kernel"
NOTE = "<!-- Written by tools/docs.py; change the source it names, then run `make docs`. -->"
EXTENSION_POINTS = {
    "engram_register_approvers": "an extension point; no built-in plugin implements it yet",
    "engram_embedder": "an extension point; no built-in plugin implements it yet",
}
"""Hooks without a built-in plugin, each with the reason that the page gives."""


def manifests() -> list[Manifest]:
    """The manifests of the plugins of this distribution, by name."""
    return [Manifest.model_validate(found.raw_manifest) for found in discover() if found.distribution == BUILT_IN]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; pipes and line breaks in cells are made harmless."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|")


def code(value: object) -> str:
    """A value as inline code, or a dash for none."""
    if value is None or value == []:
        return "–"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


# --- configuration ---------------------------------------------------------------------------------------------------


def configuration() -> str:
    parts = [
        "# Configuration reference",
        NOTE,
        "Source: `kernel/engram_kernel/config.py` and the manifest (`engram-plugin.yaml`) of each plugin.",
        "Settings are read in this order, each layer over the one before: defaults, the user's `engram.yaml`, the file named by "
        "`--config` or `ENGRAM_CONFIG`, environment variables, flags. `engram config show` prints the result and where each value "
        "came from; `engram config check` names a wrong key with its line; `engram config path` prints where the files are.",
        "A value that is wholly `${NAME}` is replaced by that environment variable; it is an error when the variable is not set.",
        "## Keys of engram.yaml",
        table(("Key", "Type", "Default", "Limits", "Meaning"), list(_keys(Config, ""))),
        "## Environment variables",
        table(("Variable", "Sets", "Form"), [(f"`{name}`", f"`{key}`", _form(form)) for name, (key, form) in ENVIRONMENT.items()]),
        _OTHER_VARIABLES,
        "## Settings of the built-in plugins",
        "They stand under `plugins.settings.<plugin>`.",
        *[section for manifest in manifests() for section in _plugin_settings(manifest)],
        "## Example",
        _EXAMPLE,
    ]
    return "\n\n".join(parts) + "\n"


_OTHER_VARIABLES = """Also read, but not keys of the file:

| Variable | Meaning |
| --- | --- |
| `ENGRAM_CONFIG` | A configuration file, read after the user's own |
| `ENGRAM_TRACE_HOOKS` | Logs every hook call |
| `ENGRAVA_MCP_CONFIG` | The same as `ENGRAM_CONFIG`, which wins when both are set |
| `ENGRAVA_DB_PATH` | The same as `ENGRAM_DATA`, which wins; for a database file, a folder beside it |
| `ENGRAVA_MCP_READ_ONLY` | The same as `ENGRAM_READ_ONLY`, which wins |"""

_EXAMPLE = """```yaml
data: ~/memory
log:
  level: warning
owner:
  idle_seconds: 300
tools:
  profile: thoughts
  disable: [delete_thought, delete_edge]
plugins:
  disabled: []
```"""


def _form(form: str) -> str:
    return {"text": "text", "flag": "`1`, `true`, `yes`, `on`; anything else is off", "list": "names separated by commas"}[form]


def _keys(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str, str]]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            yield from _keys(kind, f"{key}.")
        else:
            default = field.get_default(call_default_factory=True)
            yield f"`{key}`", _type_name(kind), code(default), _limits(field.metadata), field.description or ""


def _type_name(kind: Any) -> str:
    text = kind.__name__ if inspect.isclass(kind) and not getattr(kind, "__args__", None) else str(kind)
    text = text.replace("typing.", "").replace("NoneType", "None").replace(" | None", " or nothing")
    if found := re.fullmatch(r"Literal\[(.*)\]", text):
        return "one of " + ", ".join(f"`{choice.strip(chr(39))}`" for choice in found[1].split(", "))
    return {"str": "text", "bool": "true or false", "float": "number", "int": "whole number", "list[str]": "list of names"}.get(
        text, text.replace("str", "text")
    )


def _limits(metadata: Sequence[Any]) -> str:
    bounds = [f"{sign} {getattr(item, name):,}" for item in metadata for name, sign in (("ge", "≥"), ("le", "≤")) if hasattr(item, name)]
    return ", ".join(bounds)


def _plugin_settings(manifest: Manifest) -> Iterator[str]:
    yield f"### {manifest.name}"
    yield manifest.summary.rstrip(".") + "."
    rows = [
        (f"`{name}`", _choices(setting.choices) or setting.type, code(setting.default), _range(setting), setting.description)
        for name, setting in manifest.settings.items()
    ]
    yield table(("Setting", "Type", "Default", "Limits", "Meaning"), rows) if rows else "No settings."


def _choices(choices: Sequence[str] | None) -> str:
    return "one of " + ", ".join(f"`{choice}`" for choice in choices) if choices else ""


def _range(setting: Any) -> str:
    bounds = ((setting.minimum, "≥"), (setting.maximum, "≤"))
    return ", ".join(f"{sign} {value:,.10g}" for value, sign in bounds if value is not None)


# --- tools -----------------------------------------------------------------------------------------------------------


def registry() -> Registry:
    """The registry of a kernel started on an empty folder with every built-in plugin."""
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel.start(Config(), Path(folder))
        kernel.close()
        return kernel.registry


def tools() -> str:
    known = registry()
    agent = [tool for tool in known.all_tools() if tool.audience == "agent"]
    operator = [tool for tool in known.all_tools() if tool.audience == "operator"]
    parts = [
        "# Tool reference",
        NOTE,
        "Source: the tools, resources and prompts that the built-in plugins register.",
        "An argument without a default is required, unless its type says optional. An unknown argument is refused by name, and text "
        "is limited to 1,000,000 characters unless a lower limit is given. Each answer comes as structured content and as text.",
        "## Tools at a glance",
        table(("Tool", "Group", "Effect", "What it does"), [_glance(tool) for tool in agent]),
        *[section for tool in agent for section in _tool(tool)],
        "## Resources",
        table(("Address", "Also", "Type", "What it holds"), [_resource(item) for item in known._resources.values()]),
        "## Prompts",
        table(("Prompt", "Arguments", "What it asks for"), [_prompt(item) for item in known._prompts.values()]),
        "## Operator actions",
        "The command line calls these through the owner; an agent never sees them.",
        table(("Action", "Effect", "What it does"), [(f"`{tool.name}`", _effect(tool), _first(tool.description)) for tool in operator]),
    ]
    return "\n\n".join(parts) + "\n"


def _glance(tool: Tool) -> tuple[str, str, str, str]:
    return f"[`{tool.name}`](#{tool.name})", tool.group, _effect(tool), _first(tool.description)


def _first(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]


def _effect(tool: Tool) -> str:
    if not tool.writes:
        return "reads"
    return "hides" if tool.destructive else "writes"


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### {tool.name}"
    yield re.sub(r"\s+", " ", tool.description.strip())
    arguments = _properties(tool.input_schema)
    yield table(("Argument", "Type", "Default", "Limits", "Meaning"), arguments) if arguments else "No arguments."
    if tool.output_schema:
        yield "Returns " + _shape(tool.output_schema) + "."


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    required = set(schema.get("required", ()))
    rows = []
    for name, item in schema.get("properties", {}).items():
        optional = "" if name in required or "default" in item else " (optional)"
        default = code(item["default"]) if "default" in item else "–"
        rows.append((f"`{name}`", _json_type(item) + optional, default, _json_limits(item), item.get("description", "")))
    return rows


def _json_type(item: Mapping[str, Any]) -> str:
    if "enum" in item:
        return "one of " + ", ".join(f"`{value}`" for value in item["enum"])
    if item.get("type") == "array":
        return f"list of {_json_type(item.get('items', {}))}"
    return str(item.get("type", "any"))


_BOUNDS = {"minimum": "≥ {:,}", "maximum": "≤ {:,}", "minLength": "≥ {:,} characters", "maxLength": "≤ {:,} characters"}


def _json_limits(item: Mapping[str, Any]) -> str:
    return ", ".join(form.format(item[name]) for name, form in _BOUNDS.items() if name in item)


def _shape(schema: Mapping[str, Any], depth: int = 0) -> str:
    """The fields of a result in one line, two levels deep."""
    if real := [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]:
        return _shape(real[0], depth)
    if schema.get("type") == "array":
        return f"list of {_shape(schema.get('items', {}), depth)}"
    names = schema.get("properties") or {}
    if not names or depth > 1:
        return str(schema.get("type", "any"))
    inner = [
        f"`{name}`" + (f": {_shape(item, depth + 1)}" if item.get("type") in ("object", "array") else "") for name, item in names.items()
    ]
    return "{" + ", ".join(inner) + "}"


def _member(name: str, item: Mapping[str, Any], depth: int) -> str:
    shape = _shape(item, depth + 1)
    return f"`{name}`: {shape}" if shape.startswith(("{", "list")) else f"`{name}`"


def _resource(item: Resource) -> tuple[str, str, str, str]:
    return f"`{item.uri}`", ", ".join(f"`{alias}`" for alias in item.aliases) or "–", item.mime_type, item.description


def _prompt(item: Prompt) -> tuple[str, str, str]:
    arguments = [f"`{argument.name}`" + (" (required)" if argument.required else "") for argument in item.arguments]
    return f"`{item.name}`", ", ".join(arguments) or "–", item.description


# --- hooks -----------------------------------------------------------------------------------------------------------


def hook_names() -> list[str]:
    return [name for name in vars(Hooks) if name.startswith("engram_")]


def implementers() -> dict[str, list[str]]:
    """Hook to the built-in plugins whose manifest names it."""
    return {hook: [manifest.name for manifest in manifests() if hook in manifest.hooks] for hook in hook_names()}


def hooks() -> str:
    parts = [
        "# Hooks reference",
        NOTE,
        "Source: `kernel/engram_kernel/hookspecs.py`. How to use them: [writing a plugin](../writing-a-plugin.md).",
        " ".join((inspect.getdoc(sys.modules[Hooks.__module__]) or "").split()),
        *[section for hook, names in implementers().items() for section in _hook(hook, names)],
    ]
    return "\n\n".join(parts) + "\n"


def _hook(name: str, plugins: Sequence[str]) -> Iterator[str]:
    specification = getattr(Hooks, name)
    signature = inspect.signature(specification)
    plain = signature.replace(parameters=[item for key, item in signature.parameters.items() if key != "self"])
    yield f"## {name}"
    yield f"```python\ndef {name}{str(plain).replace(chr(39), '')}: ...\n```"
    yield " ".join((inspect.getdoc(specification) or "").split())
    users = ", ".join(f"`{plugin}`" for plugin in plugins)
    yield f"Built-in plugins that implement it: {users}." if users else f"This is {EXTENSION_POINTS.get(name, 'not used')}."


# --- commands --------------------------------------------------------------------------------------------------------


def command_line() -> str:
    rows = [(manifest, entry) for manifest in manifests() for entry in manifest.commands]
    parts = [
        "# Command reference",
        NOTE,
        "Source: the commands that the manifests of the built-in plugins name.",
        "Every command takes `--json` (print JSON for programs), `--config FILE` and `--data FOLDER`, before or after its name.",
        "## Exit codes",
        table(("Code", "Meaning"), [(f"`{number}`", meaning) for number, meaning in EXIT_CODES.items()]),
        *[section for _, entry in rows for section in _command(entry.name, load(entry.name, entry.run))],
    ]
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"engram {name}")
    yield f"## engram {name}"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```"
    yield " ".join((command.help or "").split())
    options = [item.get_help_record(context) for item in command.params if isinstance(item, click.Option)]
    known = [(f"`{record[0]}`", record[1]) for record in options if record]
    if known:
        yield table(("Option", "Meaning"), known)
    if isinstance(command, click.Group):
        inner = [(f"`engram {name} {child.name}`", " ".join((child.help or "").split())) for child in command.commands.values()]
        yield table(("Command", "What it does"), inner)


# --- quoted files ----------------------------------------------------------------------------------------------------

QUOTE = re.compile(r"(<!-- file: (?P<path>\S+) -->\n).*?(<!-- end of file -->)", re.DOTALL)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml"}


def quoted(text: str, where: Path) -> str:
    """The page with every marked block replaced by the present content of the file it names."""

    def fill(match: re.Match[str]) -> str:
        path = where.parent / match["path"]
        body = path.read_text(encoding="utf-8").rstrip()
        return f"{match[1]}```{_LANGUAGES.get(path.suffix, '')}\n{body}\n```\n{match[3]}"

    return QUOTE.sub(fill, text)


# --- all together ----------------------------------------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """Every generated page with the text it should have."""
    made = {
        DOCS / "reference" / "configuration.md": configuration(),
        DOCS / "reference" / "tools.md": tools(),
        DOCS / "reference" / "hooks.md": hooks(),
        DOCS / "reference" / "commands.md": command_line(),
    }
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if QUOTE.search(text):
            made[path] = quoted(text, path)
    return made


def stale(made: Mapping[Path, str]) -> list[Path]:
    return [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    logs.configure("error")
    outdated = stale(made := pages())
    names = ", ".join(str(path.relative_to(ROOT)) for path in outdated)
    if "--check" in sys.argv[1:]:
        sys.stdout.write(f"out of date: {names}; run `make docs`\n" if outdated else f"{len(made)} generated pages are up to date\n")
        return bool(outdated)
    for path in outdated:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    sys.stdout.write(f"written: {names}\n" if outdated else "nothing to write\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
