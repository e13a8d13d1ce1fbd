"""Ranking: collects the signals' candidates, fuses them, and adds recency, priority and graph signals."""
