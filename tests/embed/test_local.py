"""Providers that run other libraries, with stand-ins for those, and providers of the person's own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from engram_embed.providers import Unusable, open_provider
from engram_embed.settings import Settings

LIBRARIES = {"sentence-transformers": "sentence_transformers", "model2vec": "model2vec", "onnx-folder": "onnxruntime"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize("provider", LIBRARIES)
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path, provider: str) -> None:
    monkeypatch.setitem(sys.modules, LIBRARIES[provider], None)
    with pytest.raises(Unusable, match=f"needs the package {provider.replace('-folder', 'runtime')}"):
        open_provider(Settings(provider=provider, model=str(folder)))


@pytest.mark.parametrize("provider", LIBRARIES)
@pytest.mark.parametrize("model", ["", "sentence-transformers/all-MiniLM-L6-v2", "/nowhere"])
def test_nothing_is_downloaded(provider: str, model: str) -> None:
    with pytest.raises(Unusable, match="must be a folder"):
        open_provider(Settings(provider=provider, model=model))


def test_a_folder_without_the_files(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"has no file model\.onnx"):
        open_provider(Settings(provider="onnx-folder", model=str(tmp_path)))


def test_sentence_transformers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    class Fake:
        def __init__(self, path: str, *, local_files_only: bool) -> None:
            assert (path, local_files_only) == (str(folder), True)

        def encode(self, texts, *, show_progress_bar):
            return np.array([[len(text), 0.0] for text in texts])

    monkeypatch.setitem(sys.modules, "sentence_transformers", module(SentenceTransformer=Fake))
    assert open_provider(Settings(provider="sentence-transformers", model=str(folder))).encode(["ab"], query=False).tolist() == [[2, 0]]


def test_model2vec(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    made = SimpleNamespace(encode=lambda texts: [[len(text)] for text in texts])
    static = SimpleNamespace(from_pretrained=lambda path: made if path == str(folder) else None)
    monkeypatch.setitem(sys.modules, "model2vec", module(StaticModel=static))
    assert open_provider(Settings(provider="model2vec", model=str(folder))).encode(["ab"], query=False) == [[2]]


def test_onnx_takes_the_mean_of_the_real_tokens(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    encoded = [SimpleNamespace(ids=[1, 2], attention_mask=[1, 1]), SimpleNamespace(ids=[5, 0], attention_mask=[1, 0])]
    tokenizer = SimpleNamespace(
        enable_truncation=lambda most: None, enable_padding=lambda: None, encode_batch=lambda texts: encoded[: len(texts)]
    )
    monkeypatch.setitem(sys.modules, "tokenizers", module(Tokenizer=SimpleNamespace(from_file=lambda path: tokenizer)))
    monkeypatch.setitem(sys.modules, "onnxruntime", module(SessionOptions=Options, InferenceSession=Session))
    provider = open_provider(Settings(provider="onnx-folder", model=str(folder)))
    assert provider.encode(["a", "b"], query=False).tolist() == [[1.5, 3.0], [5.0, 10.0]]


class Options:
    intra_op_num_threads = 0

    def add_session_config_entry(self, name: str, value: str) -> None:
        assert (name, value) == ("session.intra_op.allow_spinning", "0")


class Session:
    def __init__(self, path: str, options: Options, providers: list[str]) -> None:
        assert options.intra_op_num_threads == 1

    def get_inputs(self):
        return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

    def run(self, outputs, given):
        assert set(given) == {"input_ids", "attention_mask"}
        ids = given["input_ids"].astype(np.float32)
        return [np.stack([ids, 2 * ids], axis=2)]


def module(**content: object) -> ModuleType:
    made = ModuleType("stand_in")
    made.__dict__.update(content)
    return made


def test_a_function_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "own", module(factory=lambda settings: lambda texts: [[1.0, 2.0] for _ in texts]))
    assert open_provider(Settings(provider="own:factory")).encode(["a"], query=True) == [[1.0, 2.0]]


@pytest.mark.parametrize("provider", ["unknown", "own_missing:factory", "json:nothing", ":x"])
def test_a_provider_that_is_not_there(provider: str) -> None:
    with pytest.raises(Unusable):
        open_provider(Settings(provider=provider))
