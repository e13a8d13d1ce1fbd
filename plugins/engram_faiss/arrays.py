"""Array types of this package, and an array that grows at its end."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Halves: TypeAlias = NDArray[np.float16]
"""Vectors as they are kept, shape (rows, dimension)."""
Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


class Growing:
    """An array whose first axis grows by doubling. `view` is valid until the next growth."""

    def __init__(self, start: NDArray[Any], fill: float = 0) -> None:
        self._room, self._size, self._fill = start, len(start), fill

    @property
    def view(self) -> Any:
        return self._room[: self._size]

    def __len__(self) -> int:
        return self._size

    def extend(self, values: NDArray[Any]) -> None:
        old = self._size
        self.reach(old + len(values))
        self._room[old : self._size] = values

    def reach(self, size: int) -> None:
        """Make it at least `size` long; new places hold the fill value."""
        if size > len(self._room):
            room = np.full((max(size, 2 * len(self._room), 64), *self._room.shape[1:]), self._fill, self._room.dtype)
            room[: self._size] = self._room[: self._size]
            self._room = room
        self._size = max(self._size, size)
