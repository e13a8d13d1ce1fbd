"""What the plugin registers, and what its settings and its health check say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from engram_embed import plugin
from engram_embed.settings import Settings
from engram_kernel.manifest import Manifest
from engram_kernel.plugins import PluginContext, Plugins

MANIFEST = Manifest.model_validate(yaml.safe_load((Path(plugin.__file__).parent / "engram-plugin.yaml").read_text(encoding="utf-8")))


class Started:
    def __init__(self, folder: Path, store, **settings) -> None:
        plugins = Plugins()
        plugins.register(plugin, MANIFEST, settings)

        def context(loaded):
            return PluginContext(loaded, folder, store)

        self.found = plugins.first("engram_embedder", context, stop=False)
        self.checks: list = []
        plugins.each("engram_register_checks", context, register=self.checks.append)

    def levels(self) -> list[str]:
        (check,) = self.checks
        return [finding.level for finding in check.run()]


def test_the_manifest_names_the_hooks_and_every_setting() -> None:
    implemented = {name for name in dir(plugin) if name.startswith("engram_") and callable(getattr(plugin, name))}
    assert implemented == set(MANIFEST.hooks)
    defaults = Settings.read(MANIFEST.read_settings({}))
    assert defaults == Settings()


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"cache": -1}, {"timeout_seconds": 0}, {"provider": 3}, {"modle": "x"}, {"query_timeout_seconds": "soon"}]
)
def test_wrong_settings_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        MANIFEST.read_settings(wrong)


def test_an_embedder_runs_and_says_how_it_is(bench, tmp_path: Path, tools) -> None:
    started = Started(tmp_path, bench.store, provider="hashing_provider:make", model="one")
    assert started.found is not None
    with tools.closing(started.found[1]) as embedder:
        bench.add(a="the spare key")
        tools.until(lambda: embedder.model and bench.store.vectors(embedder.model, [1]))
        assert started.levels() == ["ok", "ok"]


def test_none_switches_it_off(bench, tmp_path: Path) -> None:
    started = Started(tmp_path, bench.store, provider="none")
    assert started.found is None
    assert started.levels() == ["ok"]


def test_a_provider_that_does_not_exist_is_an_error_of_the_health_check(bench, tmp_path: Path, tools) -> None:
    started = Started(tmp_path, bench.store, provider="no-such-thing")
    assert started.found is not None
    with tools.closing(started.found[1]) as embedder:
        bench.add(a="the spare key")
        tools.until(lambda: embedder.inner.state == "unusable")
        tools.until(lambda: started.levels()[0] == "error")
        (check,) = started.checks
        assert "no embedding provider 'no-such-thing'" in check.run()[0].text


def test_the_check_says_when_nothing_runs(tmp_path: Path) -> None:
    plugins = Plugins()
    plugins.register(plugin, MANIFEST, {})
    checks: list = []
    plugins.each("engram_register_checks", lambda loaded: PluginContext(loaded, tmp_path, None), register=checks.append)
    assert [finding.level for finding in checks[0].run()] == ["error"]
