"""The three prompts; their words are in the `prompts_text` folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from string import Template

from engram_kernel.arguments import refused
from engram_kernel.call import Call
from engram_kernel.tools import Prompt, PromptArgument
from engram_thoughts.arguments import ListMemory
from engram_thoughts.reading import Reading
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import MAX_PAGE, TOOL_SET

DEFAULT_LIMIT = 5
BAD_LIMIT = f"must be a whole number from 1 to {MAX_PAGE}"


@cache
def _text(name: str) -> Template:
    return Template((files("engram_thoughts") / "prompts_text" / f"{name}.md").read_text(encoding="utf-8"))


def prompts(settings: Settings) -> Sequence[Prompt]:
    """All prompts of the set."""
    topic = PromptArgument("topic", "What it is about", required=True)
    return [
        Prompt(
            name="summarize_recent_memory",
            title="Summarize recent memory",
            description="Summarize the most recent thoughts",
            group=TOOL_SET,
            render=partial(_summarize, settings),
            arguments=[PromptArgument("limit", f"How many thoughts, 1 to {MAX_PAGE}; default {DEFAULT_LIMIT}")],
        ),
        _about_topic("find_related", "Find related thoughts", "Gather and connect what is stored about a topic", topic),
        _about_topic("reflect_on_topic", "Reflect on a topic", "What is established, open and in tension about a topic", topic),
    ]


def _about_topic(name: str, title: str, description: str, topic: PromptArgument) -> Prompt:
    def render(call: Call, values: Mapping[str, str]) -> str:
        return _text(name).substitute(topic=values["topic"])

    return Prompt(name=name, title=title, description=description, group=TOOL_SET, render=render, arguments=[topic])


def _summarize(settings: Settings, call: Call, values: Mapping[str, str]) -> str:
    page = Reading(settings).page(call, ListMemory(limit=_limit(values.get("limit", ""))))
    if not page.thoughts:
        return _text("summarize_empty").substitute()
    listing = "[" + ",\n".join(thought.model_dump_json() for thought in page.thoughts) + "]"
    return _text("summarize_recent_memory").substitute(shown=page.count, total=page.total, thoughts=listing)


def _limit(text: str) -> int:
    """Raises InvalidInput."""
    if not text.strip():
        return DEFAULT_LIMIT
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdigit() and len(stripped) <= 6 and 1 <= int(stripped) <= MAX_PAGE):
        raise refused({"limit": BAD_LIMIT})
    return int(stripped)
