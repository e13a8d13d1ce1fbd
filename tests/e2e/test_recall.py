"""What a host gets back: the current fact, the fact that was asked for, and nothing that it may not see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Link, Put, PutCard
from engram_kernel.config import Config
from engram_kernel.errors import EngramError
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Edge, Memory, Ref, Tier
from engram_kernel.session import Session, ToolChoice
from engram_runtime.cli.line_client import Host, ToolRefused


def add(host: Host, name: str, text: str, **more: Any) -> Any:
    return host.call("store_thought", thought_id=name, essence=text, content=text, **more)


def order(host: Host, text: str, **more: Any) -> list[str]:
    return [hit["thought_id"] for hit in host.call("search_memory", query_text=text, **more)["results"]]


def test_case_13_storing_under_a_taken_id_leaves_the_existing_text(host) -> None:
    one = host()
    add(one, "cache", "Written by a person: the cache holds an hour")
    with pytest.raises(ToolRefused, match="cache"):
        add(one, "cache", "Proposed by an agent: the cache holds a day")
    seen = one.call("get_thought", thought_id="cache", include_history=True)
    assert seen["thought"]["content"] == "Written by a person: the cache holds an hour"
    one.call("update_thought", thought_id="cache", content="Edited meanwhile")
    with pytest.raises(ToolRefused, match="cache"):
        one.call("update_thought", thought_id="cache", content="based on the old text", expected_revision=seen["revision"])
    assert one.call("get_thought", thought_id="cache")["thought"]["content"] == "Edited meanwhile"


def test_case_15_a_preference_that_ended_is_not_returned_as_current(host) -> None:
    one = host()
    add(one, "coffee", "She drinks coffee in the morning")
    one.call("update_thought", thought_id="coffee", valid_until="2026-03-01")
    add(one, "tea", "She drinks tea in the morning", valid_from="2026-03-01")
    assert order(one, "what does she drink") == ["tea"]
    both = one.call("search_memory", query_text="what does she drink", include_ended=True)["results"]
    assert {hit["thought_id"]: hit.get("valid_until") for hit in both} == {"tea": None, "coffee": "2026-03-01T00:00:00+00:00"}
    assert order(one, "what does she drink", valid_at="2026-02-01") == ["coffee"]


def test_case_16_an_ended_fact_does_not_outrank_the_current_one(host) -> None:
    one = host()
    add(one, "old", "the SSH port of the build server is 22", valid_until="2026-01-01")
    add(one, "new", "since the move, build host listens on 49222 for shell access")
    assert order(one, "SSH port of the build server") == ["new"]


def test_case_25_look_alikes_are_both_kept(host) -> None:
    one = host()
    pairs = {
        "job1": "I work at Fabrikam",
        "job2": "I just joined Contoso",
        "choice1": "We chose SQLite over Postgres for simplicity",
        "choice2": "We chose local embeddings over an API for privacy",
    }
    answers = {name: add(one, name, text, deduplicate=True) for name, text in pairs.items()}
    assert all(answer["created"] for answer in answers.values())
    listed = {item["thought_id"]: item["content"] for item in one.call("list_memory")["thoughts"]}
    assert listed == pairs


SECRET = "zanzibar"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel with one open thought and, linked to it, a memory in a sensitive collection nobody consented to."""
    kernel = Kernel.start(Config(), tmp_path)
    hidden = Collection(id="diary", title=f"{SECRET} diary", tool_set="thoughts", tier=Tier.SENSITIVE)
    secret = Memory(collection="diary", id="secret", kind="NOTE", text=f"the {SECRET} lantern", title=SECRET, status="CREATED", priority=1)
    kernel.store.apply(ChangeSet((PutCard(hidden), Put(secret))))
    call(kernel, "store_thought", thought_id="first", essence="open lantern", content="an open lantern")
    call(kernel, "store_thought", thought_id="second", essence="open door", content="an open door")
    edge = Edge(id="leak", source=Ref("thoughts", "first"), target=Ref("diary", "secret"), type="ASSOCIATED")
    kernel.store.apply(ChangeSet((Link(edge),)))
    yield kernel
    kernel.close()


SESSION = Session(tools=ToolChoice("all"))


def call(kernel: Kernel, tool: str, **arguments: Any) -> str:
    """The answer as text, an error's words included."""
    try:
        return str(asyncio.run(kernel.call(tool, arguments, SESSION)))
    except EngramError as error:
        return str(error)


def resource(kernel: Kernel, uri: str) -> str:
    try:
        return str(asyncio.run(kernel.read(uri, SESSION)))
    except EngramError as error:
        return str(error)


def test_case_44_a_closed_collection_is_closed_to_the_whole_read_surface(guarded: Kernel, needed: Mapping[str, Mapping[str, Any]]) -> None:
    tools = [tool.name for tool in guarded.registry.tools(SESSION)]
    assert set(tools) <= set(needed), "say here what a new tool needs, so that it is tried too"
    for name in tools:
        answer = call(guarded, name, **needed[name])
        assert SECRET not in answer, name
        assert "leak" not in answer, name
    for name in ("get_thought", "get_edges", "update_thought", "delete_thought"):
        assert SECRET not in call(guarded, name, thought_id="secret")
    assert SECRET not in call(guarded, "search_memory", query_text=SECRET, include_ended=True)
    assert "'rows': []" in call(guarded, "query_memory", query=f"FIND thoughts WHERE essence = '{SECRET}'")
    for item in guarded.registry.resources(SESSION):
        assert SECRET not in resource(guarded, item.uri.replace("{thought_id}", "secret")), item.uri
    for prompt in guarded.registry.prompts(SESSION):
        given = {argument.name: "lantern" for argument in prompt.arguments if argument.required}
        assert SECRET not in str(asyncio.run(guarded.render(prompt.name, given, SESSION))), prompt.name
        offered = asyncio.run(guarded.complete(prompt, "topic", "zan", SESSION))
        assert SECRET not in str(offered), prompt.name


def test_case_44_counts_leave_a_closed_collection_out(guarded: Kernel) -> None:
    seen = asyncio.run(guarded.call("memory_stats", {}, SESSION)).data
    assert seen is not None
    assert seen["thought_count"] == 2
    assert seen["metrics"]["edges"]["total"] == 0
