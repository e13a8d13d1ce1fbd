"""search_memory and search_keywords: what may be found, by which signals, and how the answer is put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engram_kernel.call import Call
from engram_kernel.query import Compare, Condition, Not, Query, ValidAt
from engram_kernel.retrieval import Hit as Ranked
from engram_kernel.retrieval import Ranking, SearchRequest
from engram_kernel.times import now
from engram_thoughts import messages
from engram_thoughts.arguments import SearchKeywords, SearchMemory
from engram_thoughts.budget import fit
from engram_thoughts.conditions import active_reflection, all_of, filtered_by, is_reflection, not_ended, not_expired
from engram_thoughts.expansion import expand
from engram_thoughts.linking import metadata_equals
from engram_thoughts.records import moment_text
from engram_thoughts.results import Filtered, Found, Hit, KeywordHit, Keywords
from engram_thoughts.selecting import capped, collapsed
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import THOUGHTS, LifecycleStatus
from engram_thoughts.window import window

PUBLISHED = {"lexical": "fts5"}
"""Signal names that callers know under another name."""
MIN_DEPTH = 200
SPARE = 5
"""How many times `top_k` hits are taken, so that there are others in place of surplus reflections."""
WORDS_OF_A_QUESTION = 3
"""So many words around a quotation make it part of a question; with fewer the phrase itself is searched."""
_QUOTED = re.compile(r'"[^"]*"')
_OPERATORS = frozenset({"AND", "OR", "NOT"})
WIDENING = 4
"""How many times more candidates are taken when hits are collapsed."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    hits: Sequence[Ranked]
    ranking: Ranking
    signals: frozenset[str]


class Searching:
    """The two search tools."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(self, call: Call, given: SearchMemory) -> Found:
        query = Query(collections=(THOUGHTS.id,), where=all_of(_allowed(given)))
        found = self._rank(call, given, query)
        self._touch(call, found.hits)
        shown = fit((_hit(hit, given.explain, given.include_ended) for hit in found.hits), self._settings.result_bytes)
        return Found(
            results=shown,
            backends_used=sorted(PUBLISHED.get(name, name) for name in found.signals),
            filtered=_filtered(given, len(found.hits)),
            failed_backends=[PUBLISHED.get(name, name) for name in found.ranking.failed] or None,
            total=len(found.hits) if len(shown) < len(found.hits) else None,
            weak=found.ranking.weak or None,
            note=_note(found),
        )

    def _rank(self, call: Call, given: SearchMemory, query: Query) -> _Outcome:
        depth = max(MIN_DEPTH, 2 * given.top_k) * (WIDENING if given.collapse_by else 1)
        blank = not given.query_text.strip()
        request = SearchRequest(
            text=as_asked(given.query_text),
            query=query,
            weights=self._weights(given),
            limit=SPARE * given.top_k * (WIDENING if given.collapse_by else 1),
            depth=depth,
            pool=tuple(window(call.store, query, given.top_k, given.recency_now)) if blank else (),
            now=given.recency_now,
        )
        ranking = call.search(request)
        signals = set(ranking.signals)
        hits = list(ranking.hits)
        if given.include_reflections and self._settings.expansion:
            hits, expanded = expand(call.store, query, hits)
            signals |= {"graph_expansion"} if expanded else set()
        if given.collapse_by:
            hits = collapsed(hits, given.collapse_by)
        return _Outcome(capped(hits, given.top_k, self._settings.reflection_share), ranking, frozenset(signals))

    def _weights(self, given: SearchMemory) -> Mapping[str, float]:
        """Without a reference moment recency takes no part."""
        weights = self._settings.weights()
        return weights if given.recency_now else {**weights, "recency": 0.0}

    def keywords(self, call: Call, given: SearchKeywords) -> Keywords:
        moment = now()
        where = all_of([not_expired(moment), not_ended(moment), _not_archived(), active_reflection()])
        request = SearchRequest(
            text=given.query,
            query=Query(collections=(THOUGHTS.id,), where=where),
            weights={"lexical": 1.0},
            limit=given.top_k,
            depth=max(MIN_DEPTH, given.top_k),
        )
        hits = call.search(request).hits
        self._touch(call, hits)
        return Keywords(results=[KeywordHit(thought_id=hit.memory.id, score=hit.score) for hit in hits])

    def _touch(self, call: Call, hits: Sequence[Ranked]) -> None:
        if self._settings.access_counting and hits:
            call.touch([hit.memory.number for hit in hits])


def _not_archived() -> Condition:
    return Compare("status", "!=", LifecycleStatus.ARCHIVED.value)


def _allowed(given: SearchMemory) -> list[Condition]:
    """Everything that decides what may be found goes into the query, so it acts before any ranker's cut."""
    conditions = [not_expired(given.valid_at or now()), active_reflection()]
    if given.lifecycle_status is not LifecycleStatus.ARCHIVED:
        conditions.append(_not_archived())
    if given.valid_at:
        conditions.append(ValidAt(given.valid_at))
    elif not given.include_ended:
        conditions.append(not_ended(now()))
    if not given.include_reflections:
        conditions.append(Not(is_reflection()))
    conditions += filtered_by(given.thought_type, given.lifecycle_status, given.priority)
    return conditions + metadata_equals(given.metadata_equals or {})


def _filtered(given: SearchMemory, shown: int) -> Filtered | None:
    """The published block. Filters act before the ranking, so everything scanned has matched and nothing was dropped."""
    filters = {"thought_type": given.thought_type, "lifecycle_status": given.lifecycle_status, "priority": given.priority}
    criteria = {name: value.value for name, value in filters.items() if value is not None}
    return Filtered(criteria=criteria, scanned=shown, matched=shown, dropped=0) if criteria else None


def as_asked(text: str) -> str:
    """The text without the quotation marks inside a question: its quoted words are wanted, not demanded."""
    around = _QUOTED.sub(" ", text).split()
    if len(around) < WORDS_OF_A_QUESTION or _OPERATORS.intersection(around) or ':"' in text:
        return text
    return text.replace('"', " ")


def _note(found: _Outcome) -> str | None:
    if not found.ranking.weak:
        return None
    best = max((hit.relevance or 0.0 for hit in found.hits), default=0.0)
    return messages.WEAK.format(best=best) if found.hits else messages.NOTHING


def _hit(ranked: Ranked, explain: bool, mark_ended: bool) -> Hit:
    memory = ranked.memory
    relevance = None if ranked.relevance is None else round(ranked.relevance, 4)
    hit = Hit(thought_id=memory.id, score=ranked.score, relevance=relevance)
    if mark_ended or explain:
        hit = hit.model_copy(update={"valid_until": moment_text(memory.valid_until)})
    if not explain:
        return hit
    return hit.model_copy(
        update={
            "essence": memory.title,
            "lifecycle_status": memory.status,
            "updated_at": moment_text(memory.updated_at),
            "signals": {PUBLISHED.get(name, name): share for name, share in ranked.parts.items()},
            "details": {PUBLISHED.get(name, name): detail for name, detail in ranked.details.items()} or None,
        }
    )
