"""Sessions, persons and dates: what they add, whom they leave alone, and that nothing hidden shines through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Put, PutCard
from engram_kernel.config import Config
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Memory
from engram_kernel.query import Compare, Query
from engram_kernel.retrieval import Ranking, SearchRequest

WORDS = {"lexical": 1.0}
IN_CONTEXT = {"lexical": 1.0, "context": 1.0}
TALK = (
    "The weather was fine all day",
    "Which colour did you choose for the kitchen walls?",
    "A warm yellow, like sunflowers",
    "And the floor stays as it is",
)


class Running:
    """A store with real plugins, without a model."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        chosen = {"disabled": ["embed", "faiss"], "settings": {"rank": settings}}
        self.kernel = Kernel.start(Config.model_validate({"plugins": chosen}), folder)

    def add(self, source: str | None, *texts: str, **more: Any) -> list[str]:
        """Ids are the source and a counter, or the text where there is no source."""
        ids = [f"{source}{place}" if source else text for place, text in enumerate(texts, 1)]
        pairs = zip(ids, texts, strict=True)
        made = [
            Memory(**{"collection": "thoughts", "id": name, "kind": "NOTE", "text": text, "source": source, **more}) for name, text in pairs
        ]
        self.kernel.store.apply(ChangeSet(tuple(map(Put, made))))
        return ids

    def search(self, text: str, weights: Mapping[str, float] = IN_CONTEXT, limit: int = 20, **query: Any) -> Ranking:
        asked = Query(**{"collections": ("thoughts",), **query})
        return self.kernel.retriever.search(self.kernel.store, SearchRequest(text=text, query=asked, weights=weights, limit=limit))


def ids(ranking: Ranking) -> list[str]:
    return [hit.memory.id for hit in ranking.hits]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    open_ones: list[Running] = []

    def run(**settings: Any) -> Running:
        open_ones.append(Running(tmp_path / str(len(open_ones)), **settings))
        return open_ones[-1]

    yield run
    for running in open_ones:
        running.kernel.close()


@pytest.fixture
def running(start: Callable[..., Running]) -> Running:
    return start()


def test_without_sessions_names_and_dates_nothing_is_touched(running: Running) -> None:
    running.add(None, "a red boat in the harbour", "a boat", "the harbour at night", "something else")
    plain, context = (running.search("red boat harbour", weights) for weights in (WORDS, IN_CONTEXT))
    assert [(hit.memory.id, hit.score, hit.parts) for hit in context.hits] == [(hit.memory.id, hit.score, hit.parts) for hit in plain.hits]


def test_a_session_of_one_is_no_session(running: Running) -> None:
    for text in ("a red boat in the harbour", "a boat"):
        running.add(text[:3], text)
    plain, context = (running.search("red boat harbour", weights) for weights in (WORDS, IN_CONTEXT))
    assert [(hit.memory.id, hit.score) for hit in context.hits] == [(hit.memory.id, hit.score) for hit in plain.hits]


def test_the_neighbours_of_a_match_come_along_and_say_why(running: Running) -> None:
    running.add("s", *TALK)
    running.add("other", "Sunflowers grow tall", "They need water")
    question = "which colour did we choose for the kitchen walls"
    assert ids(running.search(question, WORDS)) == ["s2"]
    ranking = running.search(question)
    assert ids(ranking)[0] == "s2"
    assert set(ids(ranking)) == {"s1", "s2", "s3", "s4"}
    neighbour = next(hit for hit in ranking.hits if hit.memory.id == "s3")
    assert (set(neighbour.parts), neighbour.relevance) == ({"neighbours", "session"}, 0.0)


def test_words_shared_between_neighbours_count_for_both(running: Running) -> None:
    running.add("a", "We painted the kitchen", "in yellow")
    running.add("b", "We painted the kitchen", "in haste")
    assert ids(running.search("painted kitchen yellow"))[0] == "a1"


def test_parts_add_up_to_the_score_and_relevance_is_the_memorys_own(running: Running) -> None:
    running.add("s", *TALK, origin="Mira")
    for hit in running.search("Mira kitchen walls yellow sunflowers").hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert 0 <= hit.score <= 1
    alone = {hit.memory.id: hit.score for hit in running.search("Mira kitchen walls yellow sunflowers", WORDS).hits}
    together = {hit.memory.id: hit.relevance for hit in running.search("Mira kitchen walls yellow sunflowers").hits}
    assert {name: together[name] for name in alone} == pytest.approx(alone)


def test_a_neighbour_that_may_not_be_found_neither_comes_along_nor_helps(running: Running) -> None:
    running.add("s", TALK[1])
    running.kernel.store.apply(ChangeSet((Put(replace(Memory(collection="thoughts", id="x", kind="SECRET", text=TALK[2]), source="s")),)))
    running.add("s-more", "one", "two")
    allowed = running.search("colour kitchen yellow sunflowers", where=Compare("kind", "=", "NOTE"))
    assert ids(allowed) == ["s1"]
    everything = running.search("colour kitchen yellow sunflowers")
    assert set(ids(everything)) == {"s1", "x"}
    assert allowed.hits[0].score < next(hit.score for hit in everything.hits if hit.memory.id == "s1")


def test_the_filter_acts_before_the_cut_among_many_neighbours(running: Running) -> None:
    running.add("s", *(f"kitchen walls number {place}" for place in range(300)))
    running.add("t", "kitchen plan", "walls plan", kind="PLAN")
    found = running.search("kitchen walls", where=Compare("kind", "=", "PLAN"), limit=5)
    assert set(ids(found)) == {"t1", "t2"}


def test_an_equal_source_in_a_collection_that_is_not_searched_does_not_matter(running: Running) -> None:
    running.kernel.store.apply(ChangeSet((PutCard(Collection(id="private", title="Private", tool_set="graph")),)))
    running.add("s", "the kitchen")
    running.add("s", "yellow walls", collection="private")
    assert {hit.memory.ref for hit in running.search("kitchen yellow").hits} == {("thoughts", "s1")}


def test_a_phrase_that_must_occur_brings_no_neighbours(running: Running) -> None:
    running.add("s", *TALK)
    assert ids(running.search('"kitchen walls"')) == ["s2"]
    assert ids(running.search("kitchen AND walls")) == ["s2"]


@pytest.mark.parametrize("question", ["what did Mira say about the boat", "MIRA boat", "Mira's boat"])
def test_the_person_named_comes_first(running: Running, question: str) -> None:
    running.add("b", "the boat is mine", origin="Noor")
    running.add("a", "the boat leaks", origin="Mira")
    hits = running.search(question).hits
    assert (hits[0].memory.id, hits[0].details["person"]) == ("a1", "names mira")
    assert "person" not in hits[1].parts


@pytest.mark.parametrize("question", ["boat of Mira and Noor", "the boat", "miracle boat", "agent boat"])
def test_no_one_or_several_named_moves_nothing(running: Running, question: str) -> None:
    running.add("b", "the boat is mine", origin="Noor")
    running.add("a", "the boat leaks", origin="Mira")
    running.add("c", "a boat", origin="agent")
    assert all("person" not in hit.parts for hit in running.search(question).hits)


def test_names_with_accents_in_other_scripts_and_of_several_words(running: Running) -> None:
    running.add("a", "the boat leaks", origin="Zoë Lefèvre")
    running.add("b", "the boat leaks too", origin="美咲")
    for question, name in (("boat of zoe lefevre", "a1"), ("美咲の boat", "b1")):
        assert ids(running.search(question))[0] == name


def test_an_entity_is_named_like_an_author(running: Running) -> None:
    running.add("a", "the contract was signed in spring", metadata={"entities": ["Contoso"]})
    running.add("b", "the contract was signed in spring by all")
    hits = running.search("Contoso contract signed").hits
    assert (hits[0].memory.id, "person" in hits[0].parts) == ("a1", True)


@pytest.mark.parametrize("entities", ["Contoso", [1, None], {}, [["x"]]])
def test_entities_of_any_shape_are_no_error(running: Running, entities: Any) -> None:
    running.add("a", "the contract", metadata={"entities": entities})
    assert ids(running.search("Contoso contract")) == ["a1"]


def test_the_time_named_comes_first(running: Running) -> None:
    running.add("old", "the harbour festival with fireworks", valid_from=datetime(2022, 6, 3, tzinfo=UTC))
    running.add("new", "the harbour festival with boats", valid_from=datetime(2024, 6, 8, tzinfo=UTC))
    for question, first in (("harbour festival 2024-06-08", "new1"), ("harbour festival 2022-06", "old1")):
        hits = running.search(question).hits
        assert (hits[0].memory.id, "date" in hits[0].parts, "date" in hits[1].parts) == (first, True, False)


@pytest.mark.parametrize("setting", ["person", "session", "neighbour_words", "neighbour_score", "date"])
def test_each_step_can_be_switched_off(start: Callable[..., Running], setting: str) -> None:
    running = start(**{setting: 0.0})
    running.add("s", *TALK, origin="Mira", valid_from=datetime(2024, 6, 8, tzinfo=UTC))
    parts = {name for hit in running.search("Mira kitchen walls 2024-06").hits for name in hit.parts}
    assert setting not in parts
    assert {"person", "session", "neighbours", "date"} - {setting} <= parts


def test_weak_depends_on_how_well_the_best_fits(running: Running) -> None:
    running.add(None, *(f"the quarterly budget of department {number}" for number in range(30)))
    assert not running.search("quarterly budget").weak
    assert running.search("who painted the ceiling of the northern chapel in department seven").weak
    assert running.search("xylophone").weak
    assert not running.search("").weak


def test_a_narrow_limit_gives_the_head_of_a_wide_one(running: Running) -> None:
    for session in range(8):
        running.add(f"s{session}", *(f"boat {session} in harbour {place % 3}" for place in range(30)))
    wide = running.search("boat harbour 2", limit=50)
    assert ids(running.search("boat harbour 2", limit=5)) == ids(wide)[:5]


def test_the_order_is_the_same_every_time(running: Running) -> None:
    running.add("s", *(f"the boat {place % 2}" for place in range(20)))
    first = ids(running.search("boat"))
    assert all(ids(running.search("boat")) == first for _ in range(3))
