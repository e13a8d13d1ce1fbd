from __future__ import annotations
def verify(database, state, deep, progress): raise NotImplementedError
def health(database, state): return {}
