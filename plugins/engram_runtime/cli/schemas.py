"""`engram schemas`: the JSON Schemas of the configuration, the plugin manifest and every tool, made from the models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller
from engram_runtime.cli.failures import FAILURE

if TYPE_CHECKING:
    from engram_kernel.kernel import Kernel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file differs, is missing or too many.")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("schemas"), show_default=True, help="Where they are.")
@click.pass_context
def schemas(context: click.Context, check: bool, folder: Path) -> None:
    """Write the JSON Schemas of configuration, manifest and tools, or check that they are up to date."""
    caller = context.ensure_object(Caller)
    wanted = {name: text(document) for name, document in documents().items()}
    differing = drift(folder, wanted)
    if not check:
        write(folder, wanted, differing)
    data = {"folder": str(folder), "schemas": len(wanted), "check": check, "differing": differing}
    caller.show(data, _show)
    if check and differing:
        context.exit(FAILURE)


def documents() -> dict[str, Any]:
    """File name to schema, for all built-in plugins with default settings."""
    import tempfile

    from engram_kernel.config import Config
    from engram_kernel.kernel import Kernel
    from engram_runtime import logs

    logs.configure("error")
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel.start(Config(), Path(folder))
        try:
            return {**configuration(), **tools(kernel)}
        finally:
            kernel.close()


def configuration() -> dict[str, Any]:
    from engram_kernel.config import Config
    from engram_kernel.discovery import discover
    from engram_kernel.manifest import Manifest, read_manifest

    config = _inlined(Config.model_json_schema())
    own = _own_distribution()
    known = {found.name: read_manifest(found) for found in discover() if found.distribution == own}
    settings = {name: _inlined(manifest.settings_model().model_json_schema()) for name, manifest in known.items() if manifest.settings}
    config["properties"]["plugins"]["properties"]["settings"]["properties"] = settings
    return {
        "config.schema.json": {"$schema": DIALECT, **config, "title": "engram.yaml"},
        "plugin.schema.json": {"$schema": DIALECT, **Manifest.model_json_schema(), "title": "engram-plugin.yaml"},
    }


def _own_distribution() -> str:
    from engram_kernel.discovery import discover

    return next(found.distribution for found in discover() if found.entry.module == "engram_runtime.plugin")


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without `$defs` and class names: each section stands where it is used."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            node = {**definitions[node["$ref"].rsplit("/", 1)[-1]], **{key: value for key, value in node.items() if key != "$ref"}}
        kept = {key: value for key, value in node.items() if key != "title"}
        return {key: members(value) if key == "properties" else walk(value) for key, value in kept.items()}

    def members(properties: Mapping[str, Any]) -> dict[str, Any]:
        return {name: walk(value) for name, value in properties.items()}

    inlined: dict[str, Any] = walk(schema)
    return inlined


def tools(kernel: Kernel) -> dict[str, Any]:
    own = _own_distribution()
    found: dict[str, Any] = {}
    for tool in kernel.registry.all_tools():
        plugin = kernel.plugins.owner(tool)
        if tool.audience == "agent" and plugin is not None and plugin.distribution == own:
            found[f"tools/{tool.name}.input.json"] = {"$schema": DIALECT, "title": tool.name, **tool.input_schema}
            if tool.output_schema is not None:
                found[f"tools/{tool.name}.output.json"] = {"$schema": DIALECT, "title": tool.name, **tool.output_schema}
    return found


def text(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def drift(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Names of files that are missing, differ, or should not be there."""
    managed = [folder / name for name in ("config.schema.json", "plugin.schema.json")] + sorted((folder / "tools").glob("*.json"))
    present = {str(path.relative_to(folder).as_posix()): path.read_text(encoding="utf-8") for path in managed if path.exists()}
    return sorted(name for name in present.keys() | wanted.keys() if present.get(name) != wanted.get(name))


def write(folder: Path, wanted: Mapping[str, str], differing: list[str]) -> None:
    for name in differing:
        path = folder / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            path.unlink()


def _show(data: Mapping[str, Any]) -> None:
    differing, verb = data["differing"], "differ" if data["check"] else "written"
    for name in differing:
        click.echo(f"{name}: {'out of date' if data['check'] else 'written'}")
    if data["check"] and differing:
        click.echo(f"\n{output.mark('error')}  {len(differing)} of {data['schemas']} schemas {verb}. Next: engram schemas")
    else:
        click.echo(f"{output.mark('ok')}  {data['schemas']} schemas up to date in {data['folder']}")
