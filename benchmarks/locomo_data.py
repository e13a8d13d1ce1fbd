"""Reading the LoCoMo file: conversations with the memories they become and the questions asked about them.

The data (Maharana et al., ACL 2024, CC BY-NC 4.0) is for measuring only and no part of this project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

Corpus: TypeAlias = Literal["turns", "facts"]
CATEGORIES: Mapping[int, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
UNANSWERABLE = 5
"""The category whose questions ask for something that was never said."""
_TURN = re.compile(r"D:?(\d+):(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Item:
    """One memory to store. `session` names the conversation and the session within it."""

    id: str
    text: str
    speaker: str
    session: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence` are the ids of the items that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    unanswerable: tuple[str, ...]


def read(path: Path, corpus: Corpus = "turns") -> list[Conversation]:
    """All conversations. Raises OSError or ValueError for a file that is not LoCoMo."""
    return [_conversation(sample, corpus) for sample in json.loads(path.read_bytes())]


def _conversation(sample: Mapping[str, Any], corpus: Corpus) -> Conversation:
    turns = tuple(_turns(sample["conversation"], str(sample["sample_id"])))
    known = {turn.id for turn in turns}
    questions = tuple(
        Question(entry["question"], entry["category"], evidence)
        for entry in sample["qa"]
        if entry["category"] in CATEGORIES and (evidence := _turn_ids(" ".join(entry.get("evidence", []))) & known)
    )
    unanswerable = tuple(entry["question"] for entry in sample["qa"] if entry["category"] == UNANSWERABLE)
    whole = Conversation(str(sample["sample_id"]), turns, questions, unanswerable)
    return whole if corpus == "turns" else _as_facts(whole, sample["observation"])


def _turn_ids(text: str) -> frozenset[str]:
    """The ids in a text, with leading zeros and stray colons put right."""
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(text))


def _turns(conversation: Mapping[str, Any], name: str) -> Iterator[Item]:
    numbers = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        at = datetime.strptime(conversation[f"session_{number}_date_time"], _DATE).replace(tzinfo=UTC)
        for turn in conversation[f"session_{number}"]:
            caption = turn.get("blip_caption")
            text = f"{turn.get('text', '')} [photo: {caption}]".strip() if caption else turn.get("text", "")
            yield Item(turn["dia_id"], text, turn["speaker"], f"{name}/{number}", at)


def _as_facts(whole: Conversation, observations: Mapping[str, Any]) -> Conversation:
    """The third-person statements in place of the turns they were drawn from."""
    sources: dict[str, frozenset[str]] = {}
    items: list[Item] = []
    turns = {turn.id: turn for turn in whole.items}
    for text, speaker, session, ids in _statements(observations):
        first = next((turn for turn in whole.items if turn.session == f"{whole.id}/{session}"), whole.items[0])
        origin = next((turns[turn] for turn in sorted(ids) if turn in turns), first)
        name = f"F{len(items)}"
        sources[name] = ids
        items.append(replace(origin, id=name, text=text, speaker=speaker, at=first.at, session=first.session))
    questions = [
        replace(question, evidence=frozenset(name for name, ids in sources.items() if ids & question.evidence))
        for question in whole.questions
    ]
    return replace(whole, items=tuple(items), questions=tuple(question for question in questions if question.evidence))


def _statements(observations: Mapping[str, Any]) -> Iterator[tuple[str, str, int, frozenset[str]]]:
    """(text, person, number of the session, ids of the turns it was drawn from)."""
    for key, people in observations.items():
        session = int(re.sub(r"\D", "", key))
        for person, statements in people.items():
            for text, ids in statements:
                yield text, person, session, _turn_ids(str(ids))
