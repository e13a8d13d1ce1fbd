"""link_thoughts, delete_edge, get_edges, list_edges."""

from __future__ import annotations

from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Link, Put
from engram_kernel.model import Collection, Edge, Memory, Ref

KEYS = {
    "edge_id",
    "from_thought_id",
    "to_thought_id",
    "edge_type",
    "weight",
    "created_cycle",
    "source",
    "decay_multiplier",
    "valid_from",
    "valid_until",
    "metadata",
}


@pytest.fixture
def graph(memory: Any) -> Any:
    for name in "abc":
        memory.store(f"text {name}", thought_id=name)
    return memory


def link(memory: Any, source: str, target: str, kind: str = "BRIDGE", **more: Any) -> Any:
    return memory.call("link_thoughts", from_thought_id=source, to_thought_id=target, edge_type=kind, **more)["edge"]


def test_a_link_is_returned_and_read_back(graph: Any) -> None:
    edge = link(graph, "a", "b", weight=0.5, edge_id="e", metadata={"session_id": "s", "n": 1})
    expected = {"edge_id": "e", "from_thought_id": "a", "to_thought_id": "b", "edge_type": "BRIDGE", "weight": 0.5}
    assert edge == {**expected, "metadata": {"session_id": "s", "n": 1}}
    (read,) = graph.call("get_edges", thought_id="a")["edges"]
    assert set(read) == KEYS
    assert len(KEYS) == 11
    assert (read["source"], read["decay_multiplier"], read["created_cycle"], read["valid_from"]) == ("EXPERIENCE", 1.0, 0, None)


def test_directions_and_order(graph: Any) -> None:
    link(graph, "a", "b", edge_id="light", weight=0.1)
    link(graph, "c", "a", edge_id="heavy", weight=0.9)
    link(graph, "a", "a", edge_id="self", weight=0.5)

    def ids(**arguments: Any) -> list[str]:
        return [edge["edge_id"] for edge in graph.call("get_edges", thought_id="a", **arguments)["edges"]]

    assert ids() == ["heavy", "self", "light"]
    assert ids(direction="OUT") == ["self", "light"]
    assert ids(direction="IN") == ["heavy", "self"]
    assert ids(limit=1) == ["heavy"]
    assert ids(limit=1, offset=1) == ["self"]
    assert graph.call("get_edges", thought_id="a", limit=2)["next_offset"] == 2
    assert graph.call("get_edges", thought_id="nobody") == {"edges": [], "count": 0, "total": 0}


def test_the_opposite_direction_is_another_edge(graph: Any) -> None:
    link(graph, "a", "b")
    link(graph, "b", "a")
    link(graph, "a", "b", "DEPENDS_ON")
    assert graph.call("list_edges")["count"] == 3


def test_a_double_link_changes_nothing(graph: Any) -> None:
    link(graph, "a", "b", weight=0.5)
    error = graph.fails("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE", weight=0.9)
    assert error.code == "already_exists"
    assert "Nothing was changed" in str(error)
    assert graph.call("get_edges", thought_id="a")["edges"][0]["weight"] == 0.5


def test_a_taken_edge_id(graph: Any) -> None:
    link(graph, "a", "b", edge_id="e")
    error = graph.fails("link_thoughts", from_thought_id="a", to_thought_id="c", edge_type="BRIDGE", edge_id="e")
    assert "edge id 'e' is already taken" in str(error)
    assert "another edge_type would not help" in str(error)


def test_missing_ends_are_named(graph: Any) -> None:
    error = graph.fails("link_thoughts", from_thought_id="a", to_thought_id="nobody", edge_type="BRIDGE")
    assert (error.code, error.data["missing"]) == ("not_found", {"to_thought_id": "nobody"})
    both = graph.fails("link_thoughts", from_thought_id="x", to_thought_id="y", edge_type="BRIDGE")
    assert both.data["missing"] == {"from_thought_id": "x", "to_thought_id": "y"}
    graph.call("delete_thought", thought_id="b")
    assert graph.fails("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE").code == "not_found"


@pytest.mark.parametrize("metadata", [{"k": {"deep": 1}}, {"k": [1]}, {"k": float("nan")}, {"k": "x" * 70_000}])
def test_only_flat_metadata(graph: Any, metadata: dict[str, Any]) -> None:
    error = graph.fails("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE", metadata=metadata)
    assert error.data["fields"].keys() == {"metadata"}
    assert graph.call("list_edges")["count"] == 0


def test_valid_time_of_an_edge(graph: Any) -> None:
    link(graph, "a", "b", edge_id="e", valid_from="2026-02-01", valid_until="2026-03-01")
    assert graph.find("FIND edges WHERE valid_at '2026-02-15'") == ["e"]
    assert graph.find("FIND edges WHERE valid_at '2026-03-01'") == []
    inverted = {"valid_from": "2026-03-01", "valid_until": "2026-02-01"}
    error = graph.fails("link_thoughts", from_thought_id="a", to_thought_id="c", edge_type="BRIDGE", **inverted)
    assert error.data["fields"].keys() == {"valid_until"}


def test_delete_edge(graph: Any) -> None:
    link(graph, "a", "b", edge_id="e")
    assert graph.call("delete_edge", edge_id="e") == {"deleted": True}
    assert graph.call("delete_edge", edge_id="e") == {"deleted": False}
    assert graph.call("list_edges")["edges"] == []
    link(graph, "a", "b", edge_id="e")


@pytest.fixture
def tagged(graph: Any) -> Any:
    graph.store("text d", thought_id="d")
    values: list[dict[str, Any]] = [{"k": 1, "t": "x"}, {"k": "1"}, {"k": True}, {"k": None}, {"other": 1}, {"k": 2.5, "t": "y"}, {"k": 0}]
    pairs = [(source, target) for source in "abcd" for target in "abcd"]
    for number, (metadata, (source, target)) in enumerate(zip(values, pairs, strict=False)):
        link(graph, source, target, edge_id=f"e{number}", metadata=metadata)
    return graph


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"metadata_equals": {"k": 1}}, "e0 e2"),
    ({"metadata_equals": {"k": 1.0}}, "e0 e2"),
    ({"metadata_equals": {"k": True}}, "e0 e2"),
    ({"metadata_equals": {"k": False}}, "e6"),
    ({"metadata_equals": {"k": "1"}}, "e1"),
    ({"metadata_equals": {"k": None}}, "e3 e4"),
    ({"metadata_equals": {"k": 1, "t": "x"}}, "e0"),
    ({"metadata_equals": {}}, "e0 e1 e2 e3 e4 e5 e6"),
    ({"metadata_equals": '{"k": 2.5}'}, "e5"),
    ({"metadata_in": {"k": ["1", 2.5]}}, "e1 e5"),
    ({"metadata_in": {"k": [None, 2.5]}}, "e3 e4 e5"),
    ({"metadata_in": {"k": [None]}}, "e3 e4"),
    ({"metadata_in": {"k": []}}, ""),
    ({"metadata_in": {"k": [1], "t": ["x", "y"]}, "metadata_equals": {"t": "x"}}, "e0"),
    ({"edge_type": "BRIDGE", "source": "EXPERIENCE", "metadata_equals": {"t": "y"}}, "e5"),
    ({"edge_type": "DEPENDS_ON"}, ""),
    ({"source": "DREAMING"}, ""),
]


def test_list_filters(tagged: Any) -> None:
    for arguments, expected in FILTERS:
        found = [edge["edge_id"] for edge in tagged.call("list_edges", **arguments)["edges"]]
        assert sorted(found) == expected.split(), arguments


@pytest.mark.parametrize("name", ["metadata_equals", "metadata_in"])
@pytest.mark.parametrize("key", ["run.id", "tags[0]", "", "a b", "$.k", "é"])
def test_only_simple_filter_keys(shared: Any, name: str, key: str) -> None:
    error = shared.fails("list_edges", **{name: {key: ["x"] if name == "metadata_in" else "x"}})
    assert "simple name" in str(error)
    assert not any(word in str(error) for word in ("json", "JSON", "path", "pointer"))


@pytest.mark.parametrize("arguments", [{"metadata_equals": {"k": {"a": 1}}}, {"metadata_equals": {"k": [1]}}, {"metadata_in": {"k": "x"}}])
def test_only_scalar_filter_values(shared: Any, arguments: dict[str, Any]) -> None:
    assert "'k'" in str(shared.fails("list_edges", **arguments))


def test_at_most_250_conditions(shared: Any) -> None:
    keys = {f"k{number}": 1 for number in range(250)}
    assert shared.call("list_edges", metadata_equals=keys)["count"] == 0
    assert "251" in str(shared.fails("list_edges", metadata_equals=keys, metadata_in={"more": [1]}))


def test_pages_of_edges(tagged: Any) -> None:
    first = tagged.call("list_edges", limit=3)
    assert (first["count"], first["total"], first["next_offset"]) == (3, 7, 3)
    seen = [edge["edge_id"] for offset in (0, 3, 6) for edge in tagged.call("list_edges", limit=3, offset=offset)["edges"]]
    assert sorted(seen) == [f"e{number}" for number in range(7)]


def test_edges_of_other_tool_sets_are_neither_shown_nor_deleted(graph: Any) -> None:
    from engram_kernel.changes import PutCard

    nodes = [Memory(collection="garden", id=name, kind="node", text=name) for name in ("n1", "n2")]
    foreign = Edge(id="foreign", source=Ref("garden", "n1"), target=Ref("garden", "n2"), type="BRIDGE")
    mixed = Edge(id="mixed", source=Ref("thoughts", "a"), target=Ref("garden", "n2"), type="BRIDGE")
    card = PutCard(Collection(id="garden", title="Garden", tool_set="graph"))
    graph.kernel.store.apply(ChangeSet((card, *map(Put, nodes), Link(foreign), Link(mixed))))
    for edge_id in ("foreign", "mixed"):
        assert graph.call("delete_edge", edge_id=edge_id) == {"deleted": False}
        assert graph.kernel.store.edge(edge_id) is not None
    assert graph.call("get_edges", thought_id="a")["edges"] == []
    assert graph.call("list_edges")["edges"] == []
