"""`engram demo`: two real hosts on a new data folder, real notes, a killed owner, and a count of what is left."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from engram_kernel.times import parse_time
from engram_runtime import lease
from engram_runtime.cli import output
from engram_runtime.cli.caller import caller_of
from engram_runtime.cli.demo_notes import Note, read
from engram_runtime.cli.line_client import PATIENCE, Host, HostLost, clean_environment, server_command

IDLE_SECONDS = 2.0
IN_FLIGHT = 6
KILLS = 3
QUESTIONS = ("the owner process is killed", "C++ and S3 as search terms", "times without a zone")
MOMENTS = ("2026-11-30T13:00Z", "2026-11-30T23:00Z")
RIGHT = {"justify": "right"}


@dataclass
class Story:
    """What the demonstration tells, and whether all of it came true. `quiet` tells nothing (`--json`)."""

    quiet: bool
    facts: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    chapter: int = 0

    def begin(self, title: str) -> None:
        self.chapter += 1
        if not self.quiet:
            click.echo()
            output.heading(f"{self.chapter}. {title}")

    def tell(self, text: str) -> None:
        if not self.quiet:
            output.paragraph(text)

    def table(self, columns: Sequence[output.Column], rows: Sequence[Sequence[Any]]) -> None:
        if not self.quiet:
            click.echo()
            output.table(columns, rows)
            click.echo()

    def check(self, name: str, good: bool, text: str) -> None:
        """Record a fact that must be true; a false one makes the demonstration fail."""
        self.facts.setdefault("checks", {})[name] = good
        if not good:
            self.failures.append(text)
        if not self.quiet:
            click.echo(f"  {output.mark('ok' if good else 'error')}  {text}")


@dataclass
class Stage:
    """The folder and the two hosts on it."""

    story: Story
    folder: Path
    one: Host
    two: Host

    def owner(self) -> int:
        """The process id of the present owner. Raises HostLost when none publishes itself."""
        end = time.monotonic() + PATIENCE
        while (record := lease.read_record(self.folder)) is None:
            if time.monotonic() > end:
                raise HostLost("no owner process serves the data folder")
            time.sleep(0.01)
        return record.pid


@click.command("demo")
@click.option("--writes", default=300, show_default=True, type=click.IntRange(20, 5000), help="Memories in the burst.")
@click.pass_context
def demo(context: click.Context, writes: int) -> int:
    """Show two hosts on one memory, and a killed owner that loses nothing. Uses a temporary folder."""
    caller = caller_of(context)
    began = time.perf_counter()
    story = Story(quiet=caller.json)
    folder = Path(tempfile.mkdtemp(prefix="engram-demo-"))
    stage = open_stage(story, folder)
    try:
        notes = read()
        bring_in(stage, notes)
        look_up(stage)
        ask_for_a_moment(stage, notes)
        survive(stage, writes)
        prove(stage)
    finally:
        stage.one.close()
        stage.two.close()
    wait_for_the_end(stage)
    story.facts |= {"folder": str(folder), "seconds": round(time.perf_counter() - began, 1), "failures": story.failures}
    caller.show(story.facts, lambda facts: farewell(story, facts))
    return 1 if story.failures else 0


def open_stage(story: Story, folder: Path) -> Stage:
    """Start both hosts: the first finds no owner, the second does."""
    story.begin("Two hosts, one memory")
    environment = clean_environment(folder, ENGRAM_OWNER_IDLE_SECONDS=str(IDLE_SECONDS), ENGRAM_PROFILE="thoughts")
    one, cold = _start(environment, "host one")
    two, warm = _start(environment, "host two")
    stage = Stage(story, folder, one, two)
    story.facts |= {"cold_start_s": round(cold, 3), "warm_start_s": round(warm, 3)}
    rows = [
        ("host one", one.process.pid, f"{cold:.2f} s", "no owner was running, so its engram-mcp started one"),
        ("host two", two.process.pid, f"{warm:.2f} s", "joined the same owner"),
    ]
    story.table([("Host", {}), ("Process", {}), ("First answer", RIGHT), ("", {})], rows)
    story.tell(f"One owner process ({stage.owner()}) holds the store; each engram-mcp only passes lines on.")
    return stage


def _start(environment: dict[str, str], name: str) -> tuple[Host, float]:
    host = Host(environment, name=name)
    host.initialize()
    return host, time.perf_counter() - host.began


def bring_in(stage: Stage, notes: Sequence[Note]) -> None:
    """Store the notes from host one, then link them."""
    story = stage.story
    story.begin("Real notes: this project's decision records and change log")
    stored = _timed(lambda: _store_all(stage.one, notes))
    links = _links(notes)
    linked = _timed(lambda: _link_all(stage.one, links))
    similar = _timed(lambda: _link_changes(stage, notes))
    rows = [
        ("store_thought", len(notes), _each(stored, len(notes))),
        ("link_thoughts, as the records say", len(links), _each(linked, len(links))),
        ("search, then link_thoughts, for each change", similar[1], _each(similar, similar[1])),
    ]
    story.table([("What host one did", {}), ("Count", RIGHT), ("Each", RIGHT)], rows)
    seen = stage.two.call("memory_stats")
    expected = (len(notes), len(links) + similar[1])
    counted = (seen["metrics"]["thoughts"]["total"], seen["metrics"]["edges"]["total"])
    story.facts |= {"thoughts": counted[0], "links": counted[1]}
    story.check("two_sees_one", counted == expected, f"host two sees {counted[0]} thoughts and {counted[1]} links of host one")


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _each(timed: tuple[float, Any], count: int) -> str:
    return f"{1000 * timed[0] / max(1, count):.1f} ms"


def _store_all(host: Host, notes: Sequence[Note]) -> None:
    for note in notes:
        _store(host, note)


def _store(host: Host, note: Note) -> None:
    times = {"valid_from": note.holds_from, "valid_until": note.holds_until}
    host.call(
        "store_thought",
        thought_id=note.id,
        essence=note.title[:200],
        content=note.text,
        thought_type=note.kind,
        source=note.source,
        priority="P2" if note.kind == "BELIEF" else "P3",
        **{name: value for name, value in times.items() if value},
    )


def _links(notes: Sequence[Note]) -> list[tuple[str, str, str, float]]:
    built = [(note.id, other, "DEPENDS_ON", 1.0) for note in notes for other in note.builds_on]
    return built + [(note.id, note.replaced_by, "CONTESTED_BY", 1.0) for note in notes if note.replaced_by]


def _link_all(host: Host, links: Sequence[tuple[str, str, str, float]]) -> None:
    for link in links:
        _link(host, *link)


def _link(host: Host, source: str, target: str, kind: str, weight: float) -> None:
    host.call("link_thoughts", from_thought_id=source, to_thought_id=target, edge_type=kind, weight=weight)


def _link_changes(stage: Stage, notes: Sequence[Note]) -> int:
    """Each entry of the change log is linked to the decision that resembles it most."""
    made = 0
    for note in notes:
        if note.source == "changelog":
            found = stage.one.call("search_memory", query_text=note.text, top_k=1, thought_type="BELIEF")["results"]
            for hit in found:
                _link(stage.one, note.id, hit["thought_id"], "ASSOCIATED", round(min(1.0, hit["score"]), 3))
                made += 1
    return made


def look_up(stage: Stage) -> None:
    """Search from the host that did not write."""
    story = stage.story
    story.begin("Host two searches what host one stored")
    rows = [row for question in QUESTIONS for row in _search(stage, question)]
    story.table([("Asked", {}), ("Score", {}), ("Found", {}), ("Took", RIGHT)], rows)
    edges = stage.two.call("get_edges", thought_id="decision-05", direction="OUT")["edges"]
    names = ", ".join(f"“{_title(stage, edge['to_thought_id'])}”" for edge in edges)
    story.check("neighbours", len(edges) == 2, f"decision 5 depends on {len(edges)} others: {names}")


def _search(stage: Stage, question: str) -> list[tuple[str, str, str, str]]:
    seconds, answer = _timed(lambda: stage.two.call("search_memory", query_text=question, top_k=2))
    hits = answer["results"]
    if not hits:
        stage.story.check(f"search: {question}", False, f"“{question}” finds nothing")
    shown = [(output.bar(hit["score"]), _title(stage, hit["thought_id"])) for hit in hits]
    return [("" if place else question, *pair, "" if place else f"{1000 * seconds:.1f} ms") for place, pair in enumerate(shown)]


def _title(stage: Stage, thought: str) -> str:
    return str(stage.two.call("get_thought", thought_id=thought)["thought"]["essence"])


def ask_for_a_moment(stage: Stage, notes: Sequence[Note]) -> None:
    """The same FIND at two moments: one decision was replaced in between."""
    story = stage.story
    story.begin("What held at a given moment")
    answers = [_valid_decisions(stage, moment) for moment in MOMENTS]
    story.table([("Query", {}), ("Found", RIGHT)], [(query, len(found)) for query, found in answers])
    for moment, (_, found) in zip(MOMENTS, answers, strict=True):
        expected = {note.id for note in notes if _holds(note, moment)}
        story.check(f"valid at {moment}", found == expected, f"at {moment} {len(found)} decisions held, as their files say")
    before, after = (found for _, found in answers)
    for label, names in (("No longer held", before - after), ("New", after - before)):
        story.tell(f"{label}: {'; '.join(_title(stage, name) for name in sorted(names))}.")


def _valid_decisions(stage: Stage, moment: str) -> tuple[str, set[str]]:
    query = f"FIND thoughts WHERE source = 'decisions' AND valid_at '{moment}'"
    return query, {row["thought_id"] for row in stage.two.call("query_memory", query=query)["rows"]}


def _holds(note: Note, moment: str) -> bool:
    if note.source != "decisions":
        return False
    at = parse_time(moment)
    return not (note.holds_from and parse_time(note.holds_from) > at) and not (note.holds_until and parse_time(note.holds_until) <= at)


class Burst:
    """Both hosts write as fast as they can; the ids that were confirmed are kept, with the time of each confirmation."""

    def __init__(self, hosts: Sequence[Host], writes: int) -> None:
        self.confirmed: list[tuple[float, str, str]] = []
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=self._write, args=(host, writes // len(hosts))) for host in hosts]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _write(self, host: Host, count: int) -> None:
        open_calls: deque[tuple[int, str]] = deque()
        try:
            for number in range(count):
                text = f"{host.name} wrote memory {number} of the burst"
                open_calls.append((host.start_call("store_thought", essence=text, content=text, source="burst"), text))
                if len(open_calls) >= IN_FLIGHT:
                    self._confirm(host, *open_calls.popleft())
            while open_calls:
                self._confirm(host, *open_calls.popleft())
        except Exception as error:
            self.errors.append(f"{host.name}: {error}")

    def _confirm(self, host: Host, request: int, text: str) -> None:
        thought = host.finish_call(request)["thought"]["thought_id"]
        self.confirmed.append((time.perf_counter(), thought, text))


def survive(stage: Stage, writes: int) -> None:
    """Kill the owner in the middle of a burst of writes, three times."""
    story = stage.story
    story.begin(f"{writes} writes from both hosts, and the owner killed {KILLS} times meanwhile")
    burst = Burst((stage.one, stage.two), writes)
    began = time.perf_counter()
    burst.start()
    rows = [_kill_owner(stage, burst, writes * (turn + 1) // (KILLS + 1)) for turn in range(KILLS)]
    while burst.running():
        time.sleep(0.02)
    seconds = time.perf_counter() - began
    columns: list[output.Column] = [
        ("Owner killed", {}),
        ("Confirmed before", RIGHT),
        ("Next confirmation", RIGHT),
    ]
    story.table(columns, [(f"process {pid} (SIGKILL)", before, f"after {gap:.2f} s") for pid, before, gap in rows])
    story.facts |= {"kills": len(rows), "recovery_s": [round(gap, 2) for _, _, gap in rows], "confirmed": len(burst.confirmed)}
    story.check("all_answered", not burst.errors, f"{len(burst.confirmed)} writes confirmed in {seconds:.1f} s; no host saw an error")
    for error in burst.errors:
        story.tell(error)
    count_again(stage, burst)


def _kill_owner(stage: Stage, burst: Burst, after: int) -> tuple[int, int, float]:
    """Kill it when `after` writes are confirmed; returns its process id, the confirmed writes, and the gap in seconds."""
    while len(burst.confirmed) < after and burst.running():
        time.sleep(0.001)
    pid = stage.owner()
    at, before = time.perf_counter(), len(burst.confirmed)
    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    while burst.running() and stage.owner() == pid:
        time.sleep(0.005)
    restarted = len(burst.confirmed)
    while burst.running() and len(burst.confirmed) <= restarted:
        time.sleep(0.001)
    later = [moment for moment, _, _ in burst.confirmed[restarted:]]
    return pid, before, (later[0] if later else time.perf_counter()) - at


def count_again(stage: Stage, burst: Burst) -> None:
    """Read the whole burst back and compare it with what was confirmed."""
    rows = _all_rows(stage.two, "source = 'burst'")
    stored = Counter(row["content"] for row in rows)
    ids = {row["thought_id"] for row in rows}
    missing = [thought for _, thought, _ in burst.confirmed if thought not in ids]
    doubled = [text for text, count in stored.items() if count > 1]
    story = stage.story
    story.facts |= {"stored": len(rows), "missing": len(missing), "doubled": len(doubled)}
    story.check("nothing_missing", not missing, f"read back {len(rows)} memories; {len(missing)} of the confirmed ones are missing")
    stage.story.check(
        "nothing_doubled", not doubled, f"{len(doubled)} are there twice, although unanswered calls were sent again after each kill"
    )


def _all_rows(host: Host, condition: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while True:
        query = f"FIND thoughts WHERE {condition} ORDER BY thought_id LIMIT 50 OFFSET {len(rows)}"
        page = host.call("query_memory", query=query)["rows"]
        if not page:
            return rows
        rows += page


def prove(stage: Stage) -> None:
    """Ask the owner to verify its own log, as `engram verify` does."""
    from engram_runtime.client import OwnerClient

    stage.story.begin("The log is whole")
    client = OwnerClient.connect(os.environ, data=str(stage.folder))
    try:
        seconds, found = _timed(lambda: client.call("verify", {"deep": True}, operator=True))
    finally:
        client.close()
    events, faults = found["events"], found["faults"]
    stage.story.facts |= {"events": events, "faults": faults}
    stage.story.check("hash_chain", not faults, f"{events} chained events checked and replayed in {seconds:.2f} s, {len(faults)} faults")


def wait_for_the_end(stage: Stage) -> None:
    """Both hosts are gone, so the owner leaves by itself."""
    stage.story.begin("Nothing is left running")
    began = time.perf_counter()
    probe = lease.Lease(stage.folder)
    while not (free := probe.acquire()) and time.perf_counter() - began < IDLE_SECONDS + 10:
        time.sleep(0.05)
    probe.release()
    seconds = time.perf_counter() - began
    text = f"the owner left {seconds:.1f} s after the last host (here it waits {IDLE_SECONDS:g} s, normally 60 s)"
    stage.story.check("owner_left", free, text if free else "the owner did not leave")


def farewell(story: Story, facts: dict[str, Any]) -> None:
    """Where everything is, and how to go on."""
    click.echo()
    if story.failures:
        click.secho(f"{len(story.failures)} checks failed:", fg="red", bold=True)
        for failure in story.failures:
            output.paragraph(failure)
    else:
        click.secho(f"All {len(facts['checks'])} checks passed in {facts['seconds']} s.", fg="green", bold=True)
    click.echo()
    output.fields([("Data", facts["folder"]), ("Owner's log", f"{facts['folder']}/owner.log")])
    click.echo("\nLook around in it:")
    for command in ("list", "search 'hash chain'", "show decision-07", "history decision-07", "status"):
        click.echo(f"  {_engram()} --data {facts['folder']} {command}")
    click.echo(f"\nTo connect a host of yours, let it start {server_command()[0]} as an MCP server.")
    click.echo("To remove the demonstration, delete the data folder.")


def _engram() -> str:
    """How to call the command from here: by its name when it is on the path."""
    script = Path(sys.argv[0])
    if shutil.which("engram") or not script.is_file():
        return "engram"
    return os.path.relpath(script) if script.resolve().is_relative_to(Path.cwd()) else str(script)
