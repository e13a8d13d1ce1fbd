"""The parts of the benchmark harness that could make a wrong figure look right."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def harness() -> Iterator[Any]:
    """Imports a module of the harness by name."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))


def test_marks(harness: Any) -> None:
    marks = harness("marks").marks(["x", "a", "a", "y", "z", "b"], {"a", "b", "c"})
    assert marks["recall@5"] == pytest.approx(2 / 3)
    assert (marks["hit@1"], marks["hit@5"]) == (0.0, 1.0)
    assert marks["ndcg@10"] == pytest.approx((1 / 1.584962501 + 1 / 2.584962501) / (1 + 1 / 1.584962501 + 0.5))
    assert harness("marks").marks([], {"a"})["recall@20"] == 0.0
    assert harness("marks").marks(["a"], {"a"})["ndcg@10"] == 1.0


def test_slots_and_paths(harness: Any) -> None:
    system = harness("system")
    template = {"n": "{k}", "text": "<{text}>", "session": {"id": "{session}"}, "list": ["{k}", "x"], "other": "{unknown}"}
    filled = system.filled(template, {"k": 3, "text": "a", "session": ""})
    assert filled == {"n": 3, "text": "<a>", "list": [3, "x"], "other": "{unknown}"}
    data = {"results": [{"id": "a", "signals": {"vector": 0.0}}]}
    assert system.dug(data, "results.0.signals.vector") == 0.0
    assert [system.dug(data, path) for path in ("results.1.id", "results.x", "nothing.id", "results.0.id.x")] == [None] * 4


SAMPLE = {
    "sample_id": "c1",
    "conversation": {
        "session_2_date_time": "9:05 am on 3 June, 2023",
        "session_2": [{"speaker": "B", "dia_id": "D2:1", "text": "later"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "A", "dia_id": "D1:1", "text": "hello", "blip_caption": "a cat"},
            {"speaker": "B", "dia_id": "D1:2", "text": "hi"},
        ],
    },
    "qa": [
        {"question": "q1", "category": 1, "evidence": ["D:1:01; D2:1", "D9:9"]},
        {"question": "q2", "category": 4, "evidence": ["D9:9"]},
        {"question": "q3", "category": 5, "evidence": ["D1:1"]},
    ],
    "observation": {"session_1_observation": {"A": [["A has a cat", "D1:1"], ["A says hello", ["D1:1", "D1:2"]]]}},
}


def test_reading_turns_and_facts(harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    read = harness("locomo_data").read
    (turns,) = read(path)
    assert [(item.id, item.session, item.text) for item in turns.items] == [
        ("D1:1", "c1/1", "hello [photo: a cat]"),
        ("D1:2", "c1/1", "hi"),
        ("D2:1", "c1/2", "later"),
    ]
    assert turns.items[2].at.isoformat() == "2023-06-03T09:05:00+00:00"
    assert [(question.text, question.evidence) for question in turns.questions] == [("q1", {"D1:1", "D2:1"})]
    assert turns.unanswerable == ("q3",)
    (facts,) = read(path, "facts")
    assert [(item.id, item.speaker, item.session) for item in facts.items] == [("F0", "A", "c1/1"), ("F1", "A", "c1/1")]
    assert facts.questions[0].evidence == {"F0", "F1"}


def test_our_own_questions_are_sound(harness: Any) -> None:
    content = harness("questions").read()
    asked = [pair for pairs in content["questions"].values() for pair in pairs]
    assert len(asked) >= 100
    assert len({query for query, _ in asked}) == len(asked)
    assert {name for _, name in asked} <= content["memories"].keys()
    stored = {entry["id"] for entry in content["timeline"]["store"]}
    for case in content["timeline"]["ask"]:
        named = {case.get("first")} | {name for key in ("present", "absent", "marked") for name in case.get(key, ())}
        assert named - {None} <= stored
    assert content["timeline"]["end"].keys() <= stored


def test_a_paraphrase_shares_no_word_with_its_memory(harness: Any) -> None:
    from engram_lexical.tokens import analyse

    content = harness("questions").read()
    for query, name in content["questions"]["paraphrase"]:
        shared = {term for term in analyse(query).terms.keys() & analyse(content["memories"][name]).terms.keys() if term[0] != "\x01"}
        assert not shared, (query, shared)


def test_judging_a_story(harness: Any) -> None:
    wrong = harness("questions").wrong
    case = {"first": "a", "present": ["b"], "absent": ["c"], "marked": ["d"]}
    good = [{"thought_id": "a"}, {"thought_id": "b"}, {"thought_id": "d", "valid_until": "2024-01-01"}]
    assert wrong(case, ["a", "b", "d"], good) == []
    assert len(wrong(case, ["c", "a"], [{"thought_id": "c"}, {"thought_id": "a"}])) == 5
