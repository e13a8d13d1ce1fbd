"""Brings an existing SQLite thought store of engrava over, losslessly and repeatably."""
