"""Plugins: guarded loading, the report, quarantine, and what a manifest allows."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engram_kernel import plugins as loading
from engram_kernel.changes import ChangeSet
from engram_kernel.discovery import Found
from engram_kernel.errors import NotAllowed, PluginFailed
from engram_kernel.hookspecs import hookimpl
from engram_kernel.manifest import Manifest
from engram_kernel.plugins import FAILURES_BEFORE_QUARANTINE, PluginContext, Plugins

MANIFEST = "name: {name}\ntitle: T\nsummary: S\napi: 1\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes importable plugin packages and the list that discovery would find."""
    monkeypatch.syspath_prepend(str(tmp_path))
    found: list[Found] = []
    monkeypatch.setattr(loading, "discover", lambda: found)

    def add(name: str, code: str = "", manifest: str = MANIFEST, distribution: str = "d") -> None:
        package = tmp_path / f"shop_{name}_{len(found)}"
        package.mkdir()
        (package / "__init__.py").write_text(code)
        (package / "engram-plugin.yaml").write_text(manifest.format(name=name))
        found.append(Found(name, EntryPoint(name, package.name, "engram"), distribution, "1"))

    return add


def test_one_broken_plugin_does_not_stop_the_others(shop: Any) -> None:
    shop("good")
    shop("raises", "raise RuntimeError('no luck')")
    shop("exits", "raise ImportError('lib')")
    shop("old", manifest=MANIFEST.replace("api: 1", "api: 7"))
    shop("odd", manifest="{name}: [")
    shop("misnamed", manifest=MANIFEST.replace("{name}", "other"))
    shop("good", distribution="second")
    shop("idle")
    plugins = Plugins()
    plugins.load(["idle"], {})
    report = {(plugin.name, plugin.status): plugin.error for plugin in plugins.all}
    assert [key for key in report if key[1] == "loaded"] == [("good", "loaded")]
    assert "no luck" in report["raises", "failed"] and "ImportError" in report["exits", "failed"]
    assert "interface 7" in report["old", "failed"] and ("odd", "failed") in report and "'other'" in report["misnamed", "failed"]
    assert ("good", "shadowed") in report and ("idle", "disabled") in report


def test_settings_are_checked_against_the_manifest(shop: Any) -> None:
    shop("tuned", manifest=MANIFEST + "settings:\n  depth: {{type: integer, description: d, default: 3, minimum: 1}}\n")
    for values, status in (({}, "loaded"), ({"depth": 9}, "loaded"), ({"depth": 0}, "failed"), ({"dept": 1}, "failed")):
        plugins = Plugins()
        plugins.load([], {"tuned": values})
        assert plugins.all[0].status == status
        assert status == "failed" or plugins.all[0].settings == {"depth": values.get("depth", 3)}


def manifest(name: str, *, writes: bool = False) -> Manifest:
    return Manifest.model_validate({"name": name, "title": "T", "summary": "S", "api": 1, "capabilities": {"writes": writes}})


class Ranker:
    name = "shaky"

    def rank(self, *_: object) -> list[object]:
        raise OSError("disk")


def registering(item: object) -> Any:
    @hookimpl
    def engram_register_rankers(register: Any, context: PluginContext) -> None:
        register(item)

    return SimpleNamespace(engram_register_rankers=engram_register_rankers)


def test_a_failing_read_is_recorded_and_ends_in_quarantine(tmp_path: Path) -> None:
    plugins, ranker, seen = Plugins(), Ranker(), []
    plugins.register(registering(ranker), manifest("shaky"))
    plugins.each("engram_register_rankers", lambda plugin: PluginContext(plugin, tmp_path, None), register=seen.append)
    assert seen == [ranker]
    for _ in range(FAILURES_BEFORE_QUARANTINE):
        assert plugins.guard(ranker, ranker.rank) is None
    plugin = plugins.named("shaky")
    assert plugin is not None and plugin.status == "quarantined" and "disk" in plugin.error
    assert plugins.guard(ranker, lambda: "not called") is None


def test_a_failing_registration_stops_only_where_it_must(tmp_path: Path) -> None:
    @hookimpl
    def engram_register_approvers(register: Any, context: PluginContext) -> None:
        raise ValueError("bad approver")

    plugins = Plugins()
    plugins.register(SimpleNamespace(engram_register_approvers=engram_register_approvers), manifest("bad"))
    with pytest.raises(PluginFailed, match="bad approver"):
        plugins.each("engram_register_approvers", lambda plugin: PluginContext(plugin, tmp_path, None), stop=True, register=print)
    assert plugins.each("engram_register_approvers", lambda plugin: PluginContext(plugin, tmp_path, None), register=print) == {}


def test_without_the_capability_the_store_refuses_to_write(tmp_path: Path) -> None:
    store: Any = SimpleNamespace(apply=lambda changes: "applied", sequence=lambda: 7)
    for writes in (True, False):
        plugin = Plugins().register(SimpleNamespace(), manifest("p", writes=writes))
        context = PluginContext(plugin, tmp_path, store)
        assert context.store.sequence() == 7
        if writes:
            assert context.store.apply(ChangeSet(())) == "applied"
        else:
            with pytest.raises(NotAllowed, match="'p'"):
                context.store.apply(ChangeSet(()))
