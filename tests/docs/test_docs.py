"""The generated pages are up to date, links are good, and the example plugin of the guide works."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from engram_kernel.changes import ChangeSet, Put
from engram_kernel.config import Config
from engram_kernel.errors import InvalidInput, NotAllowed
from engram_kernel.kernel import Kernel
from engram_kernel.manifest import Manifest
from engram_kernel.model import Collection, Memory
from engram_kernel.plugins import Plugins
from engram_kernel.session import Session, ToolChoice
from engram_kernel.times import now

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> ModuleType:
    """One of the scripts in tools/."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    return tool("docs")


def test_every_hook_is_documented_and_used_or_named_as_an_extension_point(docs: ModuleType) -> None:
    page = docs.hooks()
    for hook, plugins in docs.implementers().items():
        assert f"## {hook}\n" in page
        assert f"def {hook}(" in page
        assert plugins or hook in docs.EXTENSION_POINTS, hook


def test_manifests_name_exactly_the_hooks_that_are_implemented(docs: ModuleType) -> None:
    for manifest in docs.manifests():
        module = importlib.import_module(f"engram_{manifest.name}.plugin")
        assert sorted(manifest.hooks) == sorted(name for name in vars(module) if name in docs.hook_names()), manifest.name


def test_every_setting_and_variable_is_in_the_configuration_page(docs: ModuleType) -> None:
    page = docs.configuration()
    for manifest in docs.manifests():
        assert all(f"| `{name}` |" in page for name in manifest.settings)
    assert "`owner.idle_seconds`" in page and "`ENGRAM_OWNER_IDLE_SECONDS`" in page


def test_a_dead_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = tool("links")
    monkeypatch.setattr(links, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text(
        "# One `two` three\n[self](#one-two-three) [gone](b.md) [lost](#nothing) [web](https://x.y)\n```\n[no](no.md)\n```\n"
    )
    assert links.faults(tmp_path / "a.md") == ["a.md: b.md: no such file", "a.md: #nothing: no such heading"]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    started = Kernel.start(Config(), tmp_path)
    yield started
    started.close()


def test_every_query_in_the_documentation_is_accepted(kernel: Kernel) -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    queries = [line for line in lines if line.startswith(("FIND ", "EXPLAIN FIND "))]
    queries += [found for line in lines for found in re.findall(r'engram query "([^"]+)"', line)]
    assert len(queries) > 15
    session = Session(tools=ToolChoice("all"))
    for query in queries:
        assert asyncio.run(kernel.call("query_memory", {"query": query}, session)).data is not None, query


def test_the_example_of_the_two_time_axes_is_true(kernel: Kernel) -> None:
    """The office of docs/concepts.md, with the moments of storing in place of January and July."""

    def do(tool: str, **arguments: Any) -> Any:
        return asyncio.run(kernel.call(tool, arguments, Session(tools=ToolChoice("all")))).data

    def office(query: str) -> list[str]:
        return [row["essence"] for row in do("query_memory", query=query)["rows"]]

    do("store_thought", thought_id="old", essence="Hafen Street", content="The office is in Hafen Street", valid_from="2026-01-01")
    looked = now().isoformat()
    do("update_thought", thought_id="old", valid_until="2026-06-01")
    do("store_thought", essence="Ring Street", content="The office is in Ring Street", valid_from="2026-06-01")
    assert office("FIND thoughts WHERE valid_at '2026-05-15'") == ["Hafen Street"]
    assert office("FIND thoughts WHERE valid_at '2026-06-20'") == ["Ring Street"]
    assert office("FIND thoughts WHERE valid_at '2026-06-01'") == ["Ring Street"]
    assert office(f"FIND thoughts AS OF '{looked}' WHERE valid_at '2026-06-20'") == ["Hafen Street"]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A kernel with the example plugin: returns a function that calls a tool, and the kernel."""
    folder = ROOT / "docs" / "example-plugin"
    monkeypatch.syspath_prepend(str(folder))
    import engram_stale.plugin

    manifest = Manifest.model_validate(yaml.safe_load((folder / "engram_stale" / "engram-plugin.yaml").read_text()))
    plugins = Plugins()
    plugins.load((), {})
    plugins.register(engram_stale.plugin, manifest, {"days": 30})
    kernel = Kernel.start(Config(), tmp_path, plugins)
    yield kernel
    kernel.close()
    for name in ("engram_stale", "engram_stale.plugin"):
        sys.modules.pop(name, None)


def call(kernel: Kernel, **arguments: Any) -> Any:
    session = Session(tools=ToolChoice("all"))
    return asyncio.run(kernel.call("find_stale", arguments, session)).data


def test_the_example_plugin_finds_stale_memories(example: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = example.store.cards(Collection)[0].id
    for name in ("first", "second"):
        example.store.apply(ChangeSet((Put(Memory(collection=collection, id=name, kind="NOTE", text=name)),)))
    checks = [check for check in example.checks if check.name == "stale memories"]
    assert call(example) == {"ids": [], "total": 0}
    assert [finding.level for check in checks for finding in check.run()] == ["ok"]
    later = now() + timedelta(days=31)
    monkeypatch.setattr("engram_stale.plugin.now", lambda: later)
    assert call(example, limit=1) == {"ids": ["first"], "total": 2}
    assert [finding.level for check in checks for finding in check.run()] == ["warning"]


def test_the_example_plugin_refuses_bad_arguments_and_cannot_write(example: Kernel) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        call(example, limit=0)
    with pytest.raises(InvalidInput, match="number"):
        call(example, number=3)
    plugin = example.plugins.named("stale")
    assert plugin is not None
    with pytest.raises(NotAllowed):
        example._context(plugin).store.apply(ChangeSet(()))


def test_the_notes_of_the_demonstration_are_whole() -> None:
    from engram_runtime.cli import demo_notes

    notes = demo_notes.read()
    known = {note.id for note in notes}
    assert len(known) == len(notes) > 15
    for note in notes:
        assert note.title and note.text
        assert {*note.builds_on, *([note.replaced_by] if note.replaced_by else [])} <= known


def test_a_decision_record_without_a_number_is_refused() -> None:
    from engram_runtime.cli import demo_notes

    with pytest.raises(ValueError, match="decision record"):
        demo_notes.decision("# No number\n\ntext\n")
