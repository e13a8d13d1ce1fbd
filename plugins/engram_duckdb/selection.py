"""A Selection over a mask of memory numbers."""

from __future__ import annotations

import numpy as np

from engram_duckdb.columns import Array, Mask


class MaskSelection:
    """See `engram_kernel.store.Selection`; the mask is the selection's own copy."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._count: int | None = None

    @classmethod
    def of(cls, numbers: Array, size: int) -> MaskSelection:
        mask = np.zeros(size, np.bool_)
        mask[numbers] = True
        return cls(mask)

    def __len__(self) -> int:
        if self._count is None:
            self._count = int(np.count_nonzero(self._mask))
        return self._count

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._mask) and bool(self._mask[number])

    def mask(self) -> Mask:
        return self._mask
