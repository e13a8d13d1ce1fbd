"""Models in a folder of this machine, run by libraries that are not part of the installation. Nothing is downloaded."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engram_embed.providers import Unusable
from engram_embed.settings import Settings

MOST_TOKENS = 512


def _library(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unusable(f"This embedding provider needs the package {package}. Install it beside engram-kernel: {error}.") from error


def _folder(settings: Settings, *files: str) -> Path:
    """The model's folder, which must hold the files."""
    path = Path(settings.model).expanduser()
    if not settings.model or not path.is_dir():
        raise Unusable(f"plugins.settings.embed.model must be a folder with the model's files; {settings.model!r} is none.")
    for file in files:
        if not (path / file).is_file():
            raise Unusable(f"The model folder {path} has no file {file}.")
    return path


class SentenceTransformers:
    """A folder that was saved by sentence-transformers."""

    def __init__(self, settings: Settings) -> None:
        folder = _folder(settings)
        library = _library("sentence_transformers", "sentence-transformers")
        self._model = library.SentenceTransformer(str(folder), local_files_only=True)

    def encode(self, texts: Sequence[str], *, query: bool) -> Any:
        return self._model.encode(list(texts), show_progress_bar=False)


class Model2Vec:
    """A folder with a static model."""

    def __init__(self, settings: Settings) -> None:
        folder = _folder(settings)
        self._model = _library("model2vec", "model2vec").StaticModel.from_pretrained(str(folder))

    def encode(self, texts: Sequence[str], *, query: bool) -> Any:
        return self._model.encode(list(texts))


class OnnxFolder:
    """`model.onnx` and `tokenizer.json`; a text's vector is the mean of its tokens' last hidden states."""

    def __init__(self, settings: Settings) -> None:
        folder = _folder(settings, "model.onnx", "tokenizer.json")
        runtime = _library("onnxruntime", "onnxruntime")
        self._tokenizer = _library("tokenizers", "tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.enable_padding()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = runtime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self._inputs = {given.name for given in self._session.get_inputs()}

    def encode(self, texts: Sequence[str], *, query: bool) -> Any:
        encoded = self._tokenizer.encode_batch(list(texts))
        mask = np.array([item.attention_mask for item in encoded], np.int64)
        ids = np.array([item.ids for item in encoded], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: value for name, value in given.items() if name in self._inputs})[0]
        if states.ndim == 2:  # the model pools by itself
            return states
        weights = mask[:, :, None].astype(np.float32)
        return (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
