"""Fills the record cache with the newest memories after the store was opened, in the background."""

from __future__ import annotations

import threading

import numpy as np
import structlog

from engram_duckdb.records import Records
from engram_duckdb.state import State
from engram_kernel.errors import EngramError

_BATCH = 1000
_PAUSE = 0.01
_log = structlog.get_logger("duckdb")


class Warming:
    """A background thread that can be stopped."""

    def __init__(self, records: Records, state: State) -> None:
        self._records, self._state = records, state
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-warm", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._fill()
        except EngramError as error:
            _log.info("warming the cache stopped", reason=str(error))
        except Exception:
            _log.exception("warming the cache failed")

    def _fill(self) -> None:
        rids = np.sort(self._state.memories.view("rid"))[::-1]
        rids = rids[rids > 0]
        cache = self._records.cache
        for start in range(0, len(rids), _BATCH):
            if cache.size > cache.limit * 0.9 or self._stop.wait(_PAUSE):
                return
            batch = [rid for rid in rids[start : start + _BATCH].tolist() if rid not in cache]
            if batch:
                self._records.fetch(batch, self._state, oldest=True)


def start(records: Records, state: State) -> Warming:
    warming = Warming(records, state)
    warming.start()
    return warming
