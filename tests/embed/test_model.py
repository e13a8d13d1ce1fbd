"""Loading, closing the door after failures, and recognising the model behind a provider."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import numpy as np
import pytest

from engram_embed import model as model_module
from engram_embed.embedder import WindowEmbedder
from engram_embed.identity import Identities
from engram_embed.model import Model
from engram_embed.providers import Refused, Unreachable, Unusable
from engram_embed.settings import Settings
from engram_embed.windows import windows
from engram_kernel.errors import Busy, InvalidInput

SETTINGS = Settings(provider="x:y", model="m")


class Scripted:
    """Answers with vectors that a test sets, or raises."""

    def __init__(self) -> None:
        self.vector = [1.0, 2.0, 2.0]
        self.error: Exception | None = None
        self.asked: list[str] = []

    def encode(self, texts, *, query):
        self.asked += texts
        if self.error:
            raise self.error
        return [self.vector for _ in texts]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "FIRST_PAUSE", 0.01)


def make(folder: Path, provider: Scripted, settings: Settings = SETTINGS) -> Model:
    return Model(settings, Identities(folder), lambda _: provider)


def test_nothing_waits_for_the_load(tmp_path: Path) -> None:
    go, provider = Event(), Scripted()

    def slow(settings):
        go.wait(10)
        return provider

    model = Model(SETTINGS, Identities(tmp_path), slow)
    assert (model.name, model.dimension, model.state) == ("", 0, "not loaded")
    with pytest.raises(Busy, match="still loading"):
        model.encode(["a"], query=True)
    assert model.state == "loading"
    go.set()
    assert model.wait(10)
    assert model.encode(["a"], query=True).tolist() == [pytest.approx([1 / 3, 2 / 3, 2 / 3])]
    assert (model.dimension, model.name[:9]) == (3, "x:y/m/w1@")


def test_an_outage_closes_the_door_for_a_while(tmp_path: Path, quick: None) -> None:
    provider = Scripted()
    model = make(tmp_path, provider)
    assert model.wait(10)
    name = model.name
    provider.error = Unreachable("the cable is cut")
    with pytest.raises(Busy, match="the cable is cut"):
        model.encode(["a"], query=False)
    asked = len(provider.asked)
    model._retry_at += 100
    with pytest.raises(Busy, match="the cable is cut"):
        model.encode(["b"], query=False)
    assert len(provider.asked) == asked, "it was asked again at once"
    assert model.pause > 90
    model._retry_at, provider.error = 0, None
    assert model.wait(10)
    assert (model.name, model.trouble) == (name, "")


def test_the_pause_grows_and_has_an_end(tmp_path: Path) -> None:
    provider = Scripted()
    provider.error = Unreachable("down")
    model = make(tmp_path, provider)
    pauses = []
    for _ in range(12):
        model._fail(provider.error)
        pauses.append(round(model.pause, 1))
    assert pauses == sorted(pauses)
    assert pauses[0] < 1.1
    assert pauses[-1] == 60


def test_a_provider_that_can_never_work_is_not_tried_again(tmp_path: Path, tools) -> None:
    def broken(settings):
        raise Unusable("install it")

    model = Model(SETTINGS, Identities(tmp_path), broken)
    assert not model.wait(0.2)
    tools.until(lambda: model.state == "unusable")
    model.need()
    assert model.state == "unusable"
    with pytest.raises(Busy, match="install it"):
        model.encode(["a"], query=True)


def test_the_same_model_keeps_its_name_over_restarts_and_small_noise(tmp_path: Path) -> None:
    provider = Scripted()
    first = make(tmp_path, provider)
    assert first.wait(10)
    provider.vector = [1.0, 2.0, 2.0001]
    second = make(tmp_path, provider)
    assert second.name == first.name, "known without asking"
    assert second.wait(10)
    assert second.name == first.name


@pytest.mark.parametrize("vector", [[2.0, 1.0, 2.0], [1.0, 2.0]])
def test_another_model_under_the_same_name_is_recognised(tmp_path: Path, vector: list[float]) -> None:
    provider = Scripted()
    first = make(tmp_path, provider)
    assert first.wait(10)
    provider.vector = vector
    second = make(tmp_path, provider)
    assert second.wait(10)
    assert second.name != first.name
    assert second.dimension == len(vector)


def test_a_dimension_that_changes_while_running(tmp_path: Path, quick: None, tools) -> None:
    provider = Scripted()
    model = make(tmp_path, provider)
    assert model.wait(10)
    provider.vector = [1.0, 0.0]
    with pytest.raises(Busy, match="2 numbers now, not 3"):
        model.encode(["a"], query=False)
    tools.until(lambda: model.wait(0.01))
    assert model.dimension == 2


def test_a_prefix_makes_other_vectors(tmp_path: Path) -> None:
    plain = make(tmp_path, Scripted())
    prefixed = make(tmp_path, Scripted(), Settings(provider="x:y", model="m", document_prefix="passage: "))
    assert plain.wait(10)
    assert prefixed.wait(10)
    assert plain.name != prefixed.name


def test_a_damaged_note_of_the_models_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{")
    model = make(tmp_path, Scripted())
    assert model.wait(10)
    assert make(tmp_path, Scripted()).name == model.name


@pytest.fixture
def ready(tmp_path: Path) -> tuple[WindowEmbedder, Scripted]:
    settings = Settings(provider="x:y", cache=2, batch_size=3, query_prefix="q: ", document_prefix="d: ")
    provider = Scripted()
    model = make(tmp_path, provider, settings)
    assert model.wait(10)
    provider.asked.clear()
    return WindowEmbedder(settings, model), provider


def test_queries_are_kept_as_far_as_the_cache_goes(ready) -> None:
    embedder, provider = ready
    for text in ("a", "a", "b", "a", "c", "a", "b"):
        embedder.embed([text], query=True)
    assert provider.asked == ["q: a", "q: b", "q: c", "q: b"]
    assert len(embedder._cache) == 2


def test_a_long_text_has_a_vector_for_each_window(ready) -> None:
    embedder, provider = ready
    text = "\n\n".join(f"Paragraph {n} " + "of some length. " * 10 for n in range(7))
    short, long, none = embedder.embed(["short", text, ""])
    assert (len(short), len(none)) == (12, 12)
    assert len(long) == 12 * len(windows(text)) > 12 * 3
    assert np.allclose(np.frombuffer(long, "<f4").reshape(-1, 3), [1 / 3, 2 / 3, 2 / 3])
    assert all(text.startswith("d: ") for text in provider.asked)
    assert embedder.embed([]) == []


def test_refused_texts_are_told_from_an_outage(ready) -> None:
    embedder, provider = ready
    provider.error = Refused("too long")
    with pytest.raises(InvalidInput, match="too long"):
        embedder.embed(["a"])
    provider.error = None
    assert embedder.embed(["a"])


def test_a_provider_that_crashes_is_an_outage(ready) -> None:
    embedder, provider = ready
    provider.error = ZeroDivisionError("bug")
    with pytest.raises(Busy, match="bug"):
        embedder.embed(["a"])


def test_stopping_ends_a_long_work(ready) -> None:
    embedder, _ = ready
    embedder.close()
    with pytest.raises(Busy, match="stopping"):
        embedder.embed(["a"])
