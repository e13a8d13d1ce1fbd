"""What the plugin registers, and what its health check says."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from engram_kernel.manifest import Manifest
from engram_kernel.plugins import PluginContext, Plugins
from engram_lexical import plugin
from engram_lexical.ranker import LexicalRanker

MANIFEST = Manifest.model_validate(yaml.safe_load((Path(plugin.__file__).parent / "engram-plugin.yaml").read_text(encoding="utf-8")))


def registered(folder: Path, store, hook: str, **settings) -> list:
    plugins = Plugins()
    plugins.register(plugin, MANIFEST, settings)
    found: list = []
    plugins.each(hook, lambda loaded: PluginContext(loaded, folder, store), register=found.append, stop=True)
    return found


def test_the_manifest_names_the_hooks_that_are_implemented() -> None:
    implemented = {name for name in dir(plugin) if name.startswith("engram_") and callable(getattr(plugin, name))}
    assert implemented == set(MANIFEST.hooks)
    assert not MANIFEST.capabilities.writes


def test_the_ranker_works_with_a_store_that_refuses_to_write(tmp_path: Path, bench) -> None:
    bench.store.add("about lanterns")
    (ranker,) = registered(tmp_path, bench.store, "engram_register_rankers", flush_documents=1)
    assert isinstance(ranker, LexicalRanker)
    assert [candidate.number for candidate in ranker.rank("lanterns", bench.store.all(), 5)] == [1]
    (check,) = registered(tmp_path, bench.store, "engram_register_checks")
    (finding,) = check.run()
    assert finding.level == "ok"
    assert "documents: 1" in finding.text
    ranker.close()
    assert list((tmp_path / "index" / "lexical").glob("*.segment"))


def test_the_check_says_when_no_index_runs(tmp_path: Path) -> None:
    (check,) = registered(tmp_path, None, "engram_register_checks")
    assert [finding.level for finding in check.run()] == ["error"]


def test_the_check_passes_on_trouble(tmp_path: Path, bench) -> None:
    bench.store.add("about lanterns")
    bench.store.failing = True
    (ranker,) = registered(tmp_path, bench.store, "engram_register_rankers")
    ranker.rank("lanterns", bench.store.all(), 5)
    (check,) = registered(tmp_path, bench.store, "engram_register_checks")
    (finding,) = check.run()
    assert (finding.level, "the store is gone" in finding.text) == ("warning", True)
    ranker.close()


@pytest.mark.parametrize("settings", [{"flush_documents": 0}, {"idle_seconds": -1}, {"unknown": 1}])
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        MANIFEST.read_settings(settings)
