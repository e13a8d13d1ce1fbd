"""The settings under which our own server is measured: as it comes, and with parts of its ranking switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NO_MODEL = {"plugins": {"disabled": ["embed", "faiss"]}}


def _thoughts(**settings: Any) -> Mapping[str, Any]:
    return {"plugins": {"settings": {"thoughts": settings}}}


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "without a model": NO_MODEL,
    "words alone": _thoughts(weight_vector=0.0, context=False),
    "meaning alone": _thoughts(weight_lexical=0.0, context=False),
    "words and meaning": _thoughts(context=False),
    "published weights": _thoughts(weight_lexical=0.30, weight_vector=0.55),
}
"""`default` is always measured first: it stores the memories that the others then find in the same folder."""

WITHOUT_VECTORS = frozenset({"without a model", "words alone"})
