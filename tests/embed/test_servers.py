"""Providers on a server, against a fake one on loopback."""

from __future__ import annotations

import pytest

from engram_embed.providers import Refused, Unreachable, Unusable, open_provider, unit_vectors
from engram_embed.settings import Settings


def openai(path, body):
    rows = [{"index": n, "embedding": [float(len(text)), 1.0]} for n, text in enumerate(body["input"])]
    return 200, {"data": rows[::-1]}


def ollama(path, body):
    return 200, {"embeddings": [[float(len(text)), 1.0] for text in body["input"]]}


def test_openai_compatible(server) -> None:
    server.answer = openai
    provider = open_provider(Settings(provider="openai-compatible", base_url=server.url + "/v1/", api_key="secret", model="m"))
    assert provider.encode(["ab", "c"], query=False) == [[2.0, 1.0], [1.0, 1.0]]
    assert server.bodies == [{"model": "m", "input": ["ab", "c"], "encoding_format": "float"}]
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_ollama(server) -> None:
    server.answer = ollama
    provider = open_provider(Settings(provider="ollama", base_url=server.url))
    assert provider.encode(["ab", "c"], query=True) == [[2.0, 1.0], [1.0, 1.0]]
    assert server.bodies == [{"model": "nomic-embed-text", "input": ["ab", "c"]}]
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("provider", ["openai-compatible", "ollama"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, {"error": "too long"}), Refused),
        ((413, {}), Refused),
        ((401, {"error": "bad key"}), Unreachable),
        ((404, {"error": "no such model"}), Unreachable),
        ((429, {}), Unreachable),
        ((500, {}), Unreachable),
        ((200, b"<html>"), Unreachable),
        ((200, {"other": 1}), Unreachable),
        ((200, []), Unreachable),
    ],
    ids=str,
)
def test_failures(server, provider: str, answer, error: type[Exception]) -> None:
    server.answer = lambda path, body: answer
    with pytest.raises(error):
        open_provider(Settings(provider=provider, base_url=server.url)).encode(["a"], query=False)


def test_the_servers_words_are_passed_on_without_the_key(server) -> None:
    server.answer = lambda path, body: (401, {"error": "bad key"})
    with pytest.raises(Unreachable, match=r"401.*bad key") as caught:
        open_provider(Settings(provider="ollama", base_url=server.url, api_key="secret")).encode(["a"], query=False)
    assert "secret" not in str(caught.value)


def test_nobody_there(server) -> None:
    server.down()
    with pytest.raises(Unreachable, match="does not answer"):
        open_provider(Settings(provider="ollama", base_url=server.url)).encode(["a"], query=False)


def test_a_query_does_not_wait_long(server) -> None:
    server.answer, server.delay = ollama, 2
    provider = open_provider(Settings(provider="ollama", base_url=server.url, query_timeout_seconds=0.1))
    with pytest.raises(Unreachable):
        provider.encode(["a"], query=True)


@pytest.mark.parametrize("url", ["127.0.0.1:1", "file:///etc/passwd", "ftp://x"])
def test_only_http(url: str) -> None:
    with pytest.raises(Unusable, match="base_url"):
        open_provider(Settings(provider="ollama", base_url=url))


@pytest.mark.parametrize("answer", [[[1.0]], [], [[1.0], [float("nan")]], [[], []], [["a"], ["b"]], [[1.0], [1.0, 2.0]], None, [1.0, 2.0]])
def test_answers_that_are_no_vectors(answer) -> None:
    with pytest.raises(Unusable):
        unit_vectors(answer, 2)


def test_a_zero_vector_stays_zero() -> None:
    assert unit_vectors([[0.0, 0.0], [3.0, 4.0]], 2).tolist() == [[0, 0], pytest.approx([0.6, 0.8])]
