"""The built-in model itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engram_embed import builtin
from engram_embed.embedder import WindowEmbedder
from engram_embed.identity import Identities
from engram_embed.model import Model
from engram_embed.providers import Unusable
from engram_embed.settings import Settings

MEMORIES = [
    "The spare key hangs behind the boiler.",
    "She prefers tea in the morning.",
    "We chose DuckDB as the storage engine.",
    "The train to Lyon leaves at nine.",
    "The cat is afraid of thunderstorms.",
]
QUESTIONS = {
    "en": ("Which database did we pick?", 2),
    "fr": ("À quelle heure part le train ?", 3),
    "de": ("Wo ist der Ersatzschlüssel?", 0),
    "es": ("¿Qué le gusta beber por la mañana?", 1),
    "it": ("Di cosa ha paura il gatto?", 4),
    "pt": ("Onde está a chave reserva?", 0),
    "nl": ("Waar is de kat bang voor?", 4),
    "pl": ("O której odjeżdża pociąg?", 3),
    "ru": ("Чего боится кошка?", 4),
    "tr": ("Sabahları ne içmeyi sever?", 1),
    "ja": ("猫は何を怖がりますか", 4),
    "ko": ("기차는 언제 출발하나요?", 3),
    "zh": ("她早上喜欢喝什么？", 1),
    "ar": ("متى يغادر القطار؟", 3),
}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> WindowEmbedder:
    settings = Settings()
    model = Model(settings, Identities(tmp_path_factory.mktemp("embed")))
    assert model.wait(60), model.trouble
    return WindowEmbedder(settings, model)


def vectors(embedder: WindowEmbedder, texts: list[str], query: bool = False) -> np.ndarray:
    return np.array([np.frombuffer(data, "<f4") for data in embedder.embed(texts, query=query)])


@pytest.mark.parametrize("language", QUESTIONS)
def test_a_question_finds_its_memory_in_another_language(embedder: WindowEmbedder, language: str) -> None:
    question, answer = QUESTIONS[language]
    scores = vectors(embedder, MEMORIES) @ vectors(embedder, [question], query=True)[0]
    assert int(scores.argmax()) == answer


def test_vectors_have_length_1_and_do_not_depend_on_the_company(embedder: WindowEmbedder) -> None:
    together = vectors(embedder, MEMORIES)
    assert together.shape == (len(MEMORIES), embedder.dimension) == (5, 512)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)
    alone = np.concatenate([vectors(embedder, [text]) for text in MEMORIES])
    assert np.allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\x00", "e" + "\u0301" * 500, "🦉", "x" * 3000, "(" * 500, "\u202eabc"], ids=range(9))
def test_any_text_gets_a_vector(embedder: WindowEmbedder, text: str) -> None:
    for query in (False, True):
        (data,) = embedder.embed([text], query=query)
        assert data
        assert np.isfinite(np.frombuffer(data, "<f4")).all()


def test_the_model_is_named_by_its_digest(embedder: WindowEmbedder) -> None:
    assert embedder.model == f"use-multilingual-3@{builtin.DIGESTS['weights.npz'][:8]}/w1"


@pytest.fixture
def unloaded() -> Iterator[None]:
    builtin._load.cache_clear()
    yield
    builtin._load.cache_clear()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DIGESTS", {"weights.npz": "0" * 64}, "damaged or of another version"),
        ("DIGESTS", {"gone.npz": "0" * 64, "weights.npz": "0" * 64}, "cannot be read"),
        ("EXPECTED", (0.5,) * 8, "fails its self-test"),
    ],
)
def test_a_model_that_is_not_ours_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unloaded: None, tools, name: str, value: object, says: str
) -> None:
    monkeypatch.setattr(builtin, name, value)
    with pytest.raises(Unusable, match=says):
        builtin.BuiltIn(Settings())
    model = Model(Settings(), Identities(tmp_path))
    tools.until(lambda: model.wait(0) or model.state == "unusable")
    assert says in model.trouble
