"""The 13 tools as data: names, words for a model, annotations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engram_kernel.tools import Tool
from engram_thoughts import arguments, results
from engram_thoughts.linking import Linking
from engram_thoughts.querying import Querying
from engram_thoughts.reading import Reading
from engram_thoughts.searching import Searching
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import TOOL_SET
from engram_thoughts.writing import Writing

_FIND = (
    "Run a FIND query: FIND thoughts|edges|actions [AS OF 'time'] [WHERE conditions] [ORDER BY column [DESC], ...] [LIMIT n] [OFFSET n], "
    "or ... COUNT. Conditions: = != < <= > >= [NOT] IN (..), LIKE, CONTAINS, BETWEEN a AND b, IS [NOT] NULL, "
    "valid_now, valid_at t, valid_within a b, valid_between a b, AND, OR, NOT, parentheses; metadata.key is a column. "
    "Sees expired and archived thoughts too. Example: FIND thoughts WHERE valid_at '2026-01-01' AND priority = 'P1'"
)

_tool = partial(Tool, group=TOOL_SET, profiles=frozenset({"standard"}))
_write = partial(_tool, writes=True, idempotent=False)
_delete = partial(_tool, writes=True, destructive=True, idempotent=True)


def tools(settings: Settings) -> Sequence[Tool]:
    """All tools of the set, reading ones first."""
    return [*_reading(settings), *_edges(settings), *_writing(settings)]


def _reading(settings: Settings) -> Sequence[Tool]:
    reading, searching = Reading(settings), Searching(settings)
    return [
        _tool(
            name="get_thought",
            title="Get a thought",
            description="Read one thought by id, also an expired or archived one; optionally as known earlier, or with its history.",
            handler=reading.get,
            arguments=arguments.GetThought,
            result=results.FoundThought,
        ),
        _tool(
            name="search_memory",
            title="Search thoughts",
            description="Rank thoughts by meaning, words, age and priority; returns ids and scores, read them with get_thought. "
            "Expired, archived and no longer valid thoughts are left out unless asked for.",
            handler=searching.search,
            arguments=arguments.SearchMemory,
            result=results.Found,
        ),
        _tool(
            name="search_keywords",
            title="Search words",
            description="Rank thoughts by the words they contain only (BM25).",
            handler=searching.keywords,
            arguments=arguments.SearchKeywords,
            result=results.Keywords,
        ),
        _tool(
            name="list_memory",
            title="List thoughts",
            description="Page through thoughts by highest cycle, then newest; archived ones included.",
            handler=reading.page,
            arguments=arguments.ListMemory,
            result=results.Listing,
        ),
        _tool(
            name="query_memory",
            title="Query thoughts",
            description=_FIND,
            handler=Querying(settings).query,
            arguments=arguments.QueryMemory,
            result=results.Rows,
        ),
        _tool(
            name="memory_stats",
            title="Memory statistics",
            description="Count thoughts and edges by type and status, and the size on disk.",
            handler=reading.stats,
            arguments=arguments.MemoryStats,
            result=results.Stats,
        ),
    ]


def _edges(settings: Settings) -> Sequence[Tool]:
    linking = Linking(settings)
    return [
        _tool(
            name="get_edges",
            title="Edges of a thought",
            description="Read the edges of one thought, heaviest first.",
            handler=linking.around,
            arguments=arguments.GetEdges,
            result=results.Edges,
        ),
        _tool(
            name="list_edges",
            title="List edges",
            description="Browse edges of the whole store by type, source and metadata; all conditions must hold.",
            handler=linking.browse,
            arguments=arguments.ListEdges,
            result=results.Edges,
        ),
        _write(
            name="link_thoughts",
            title="Link two thoughts",
            description="Create a directed edge; one per (from, to, edge_type).",
            handler=linking.link,
            arguments=arguments.LinkThoughts,
            result=results.Linked,
        ),
        _delete(
            name="delete_edge",
            title="Delete an edge",
            description="Remove one edge; its history stays.",
            handler=linking.delete,
            arguments=arguments.DeleteEdge,
            result=results.Deleted,
        ),
    ]


def _writing(settings: Settings) -> Sequence[Tool]:
    writing = Writing(settings)
    return [
        _write(
            name="store_thought",
            title="Store a thought",
            description="Add a thought. An existing id is refused, never overwritten.",
            handler=writing.store,
            arguments=arguments.StoreThought,
            result=results.Stored,
        ),
        _write(
            name="update_thought",
            title="Update a thought",
            description="Change the given fields of one thought, all or none; omitted or null fields stay.",
            handler=writing.update,
            arguments=arguments.UpdateThought,
            result=results.Updated,
        ),
        _delete(
            name="delete_thought",
            title="Delete a thought",
            description="Remove a thought with its edges and actions; its history stays.",
            handler=writing.delete,
            arguments=arguments.DeleteThought,
            result=results.Deleted,
        ),
    ]
