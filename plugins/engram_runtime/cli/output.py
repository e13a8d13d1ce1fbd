"""How things look: headings, fields, tables, bars, dates. rich is imported only when a table is drawn."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Column = tuple[str, Mapping[str, Any]]
BAR_CELLS = 10
PIPE_WIDTH = 120
MARKS = {"ok": ("green", "ok"), "warning": ("yellow", "warning"), "error": ("red", "error")}


def width() -> int:
    """Columns to draw in: COLUMNS, else the terminal's, else a fixed width for pipes and files."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return max(40, int(given))
    return max(40, shutil.get_terminal_size().columns) if sys.stdout.isatty() else PIPE_WIDTH


def unicode_output() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")


def console() -> Console:
    """A rich console on stdout; no colour with NO_COLOR and in pipes."""
    from rich.console import Console

    return Console(width=width(), highlight=False, soft_wrap=False, legacy_windows=False, markup=False, emoji=False)


def table(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table without a frame; each column is (heading, rich options)."""
    from rich.text import Text

    drawn = _empty_table()
    for heading, options in columns:
        drawn.add_column(heading, **{"overflow": "fold", **options})
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(clean(str(cell))) for cell in row))
    _print(drawn)


def _print(drawn: Table) -> None:
    """rich pads every line to the full width; pipes and copied text do not need that."""
    screen = console()
    with screen.capture() as captured:
        screen.print(drawn)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=screen.color_system is not None)


def _empty_table() -> Table:
    from rich import box
    from rich.table import Table

    frame = box.SIMPLE_HEAD if unicode_output() else box.Box("    \n    \n -  \n    \n    \n    \n    \n    \n", ascii=True)
    return Table(box=frame, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), collapse_padding=True)


def heading(text: str) -> None:
    click.secho(clean(text), bold=True)


def note(text: str) -> None:
    """A quiet remark."""
    click.secho(clean(text), dim=True)


def fields(pairs: Iterable[tuple[str, Any]], indent: int = 0) -> None:
    """Aligned `name  value` lines; empty values are left out and long ones wrapped under themselves."""
    shown = [(name, clean(str(value))) for name, value in pairs if value not in (None, "", [], {})]
    if not shown:
        return
    left = indent + max(len(name) for name, _ in shown) + 2
    for name, value in shown:
        lines = wrap(value, width() - left) or [""]
        click.echo(" " * indent + click.style(name.ljust(left - indent), dim=True) + lines[0])
        for line in lines[1:]:
            click.echo(" " * left + line)


def wrap(text: str, columns: int) -> list[str]:
    """Lines of at most `columns` cells; a single longer word, such as a path, stays whole so that it can be copied."""
    import textwrap

    return [
        line
        for paragraph in text.splitlines()
        for line in (textwrap.wrap(paragraph, max(20, columns), break_long_words=False, break_on_hyphens=False) or [""])
    ]


def paragraph(text: str, indent: int = 2) -> None:
    """Text as it was written, wrapped at word borders; lines that carry their own layout are kept."""
    for line in clean(text).splitlines():
        indented = line.startswith((" ", "\t"))
        for piece in [line] if indented else wrap(line, width() - indent) or [""]:
            click.echo(f"{' ' * indent}{piece}".rstrip())


def bar(share: float, cells: int = BAR_CELLS) -> str:
    """A bar for a number in 0..1."""
    full, empty = ("█", "░") if unicode_output() else ("#", "-")
    filled = round(max(0.0, min(1.0, share)) * cells)
    return full * filled + empty * (cells - filled)


def separator() -> str:
    return " · " if unicode_output() else " - "


def joined(parts: Iterable[Any]) -> str:
    return separator().join(clean(str(part)) for part in parts if part not in (None, ""))


def day(moment: Any) -> str:
    """The date of an ISO time."""
    return str(moment or "")[:10]


def minute(moment: Any) -> str:
    """Date and time of an ISO time, which is stored in UTC, to the minute."""
    return f"{str(moment)[:16].replace('T', ' ')} UTC" if moment else ""


def value(given: Any) -> str:
    """A value as the person would write it: JSON, except that text stands for itself."""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=not unicode_output(), default=str)


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def counted(number: int, word: str, plural: str = "") -> str:
    """`1 hit`, `2 hits`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def duration(seconds: float) -> str:
    """Seconds for people, with the two largest units."""
    whole = int(seconds)
    parts = [(whole // 86_400, "d"), (whole % 86_400 // 3600, "h"), (whole % 3600 // 60, "min"), (whole % 60, "s")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "0 s"


def mark(level: Literal["ok", "warning", "error"] | str) -> str:
    colour, word = MARKS.get(level, ("white", level))
    return click.style(word, fg=colour, bold=level == "error")


def clean(text: str) -> str:
    """Stored text must not drive the terminal: control characters other than line break and tab are shown, not sent."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" or (char.isprintable() and char != "\x9b") else _shown(char) for char in text)


def _shown(char: str) -> str:
    return " " if char.isspace() else f"\\u{ord(char):04x}" if ord(char) > 0x1F else f"^{chr(ord(char) + 64)}"


def one_line(text: str, limit: int) -> str:
    """The first `limit` characters on one line, with an ellipsis when something is left out."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    cut = flat[: max(1, limit - 1)].rsplit(" ", 1)[0] or flat[: limit - 1]
    return f"{cut}…" if unicode_output() else f"{cut[: limit - 3]}..."
