"""What every store must do. A third party runs it on its own store, with this repository on the path:

from tests.contracts.store import StoreContract

class TestMine(StoreContract):
    @pytest.fixture
    def provider(self):
        return MyProvider()            # engram_kernel.store.StoreProvider
"""

from __future__ import annotations

import pytest
from tests.contracts.store_keeping import KeepingContract
from tests.contracts.store_memories import MemoryContract
from tests.contracts.store_queries import QueryContract
from tests.contracts.store_writing import WritingContract

from engram_kernel.store import StoreProvider


class StoreContract(MemoryContract, WritingContract, QueryContract, KeepingContract):
    """Override `provider`."""

    @pytest.fixture
    def provider(self) -> StoreProvider:
        raise NotImplementedError
