"""Embedding servers: any that speaks the OpenAI protocol, and Ollama. Standard library only."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from engram_embed.providers import Refused, Unreachable, Unusable
from engram_embed.settings import Settings

REFUSING = frozenset({400, 413, 414, 422})
"""HTTP states that blame the texts; every other failure may pass."""
MOST_BYTES = 1 << 30


class Server:
    """`post` sends JSON and reads JSON. An answer that names an error is told in the error's own words."""

    def __init__(self, settings: Settings, base_url: str) -> None:
        self._settings, self._base = settings, (settings.base_url or base_url).rstrip("/")
        if urlsplit(self._base).scheme not in ("http", "https"):
            raise Unusable(f"plugins.settings.embed.base_url must begin with http:// or https://, not {self._base!r}.")

    def post(self, path: str, body: Mapping[str, Any], *, query: bool) -> Any:
        """Raises Unreachable or Refused."""
        request = Request(self._base + path, json.dumps(body).encode(), self._headers(), method="POST")  # noqa: S310
        timeout = self._settings.query_timeout_seconds if query else self._settings.timeout_seconds
        try:
            with urlopen(request, timeout=timeout) as answer:  # noqa: S310
                return json.loads(answer.read(MOST_BYTES))
        except HTTPError as error:
            raise self._failure(error) from error
        except (URLError, OSError, http.client.HTTPException) as error:
            raise Unreachable(f"The embedding server {self._base} does not answer: {getattr(error, 'reason', error)}.") from error
        except ValueError as error:
            raise Unreachable(f"The embedding server {self._base} answered with something that is not JSON.") from error

    def _headers(self) -> dict[str, str]:
        key = self._settings.api_key
        return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def _failure(self, error: HTTPError) -> Exception:
        with error:
            words = error.read(500).decode(errors="replace")
        text = f"The embedding server {self._base} answered {error.code}: {' '.join(words.split())[:300]}"
        return Refused(text) if error.code in REFUSING else Unreachable(text)


class OpenAiCompatible:
    """`POST {base_url}/embeddings`, as OpenAI, vLLM, llama.cpp, LM Studio and many others understand it."""

    def __init__(self, settings: Settings) -> None:
        self._server = Server(settings, "https://api.openai.com/v1")
        self._model = settings.model or "text-embedding-3-small"

    def encode(self, texts: Sequence[str], *, query: bool) -> list[Any]:
        answer = self._server.post("/embeddings", {"model": self._model, "input": list(texts), "encoding_format": "float"}, query=query)
        try:
            rows = sorted(answer["data"], key=lambda row: row.get("index", 0))
            return [row["embedding"] for row in rows]
        except (KeyError, TypeError, AttributeError) as error:
            raise Unreachable("The embedding server's answer holds no embeddings.") from error


class Ollama:
    """`POST {base_url}/api/embed`."""

    def __init__(self, settings: Settings) -> None:
        self._server = Server(settings, "http://127.0.0.1:11434")
        self._model = settings.model or "nomic-embed-text"

    def encode(self, texts: Sequence[str], *, query: bool) -> list[Any]:
        answer = self._server.post("/api/embed", {"model": self._model, "input": list(texts)}, query=query)
        try:
            return list(answer["embeddings"])
        except (KeyError, TypeError) as error:
            raise Unreachable("The embedding server's answer holds no embeddings.") from error
