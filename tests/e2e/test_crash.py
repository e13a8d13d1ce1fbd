"""The owner is killed at random moments; what was confirmed is there, once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, deque

from engram_runtime.cli.line_client import Host


class Writer:
    """Stores numbered thoughts with several calls in flight until told to stop; `confirmed` maps id to text."""

    def __init__(self, host: Host) -> None:
        self.host, self.confirmed, self.errors = host, {}, []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        open_calls: deque[tuple[int, str]] = deque()
        number = 0
        try:
            while not self.stop.is_set() or open_calls:
                if not self.stop.is_set() and len(open_calls) < 4:
                    text = f"{self.host.name} memory {number}"
                    open_calls.append((self.host.start_call("store_thought", essence=text, content=text, source="burst"), text))
                    number += 1
                else:
                    request, text = open_calls.popleft()
                    self.confirmed[self.host.finish_call(request, 60)["thought"]["thought_id"]] = text
        except Exception as error:
            self.errors.append(repr(error))


def test_case_07_killed_owners_lose_and_double_nothing(host, owner, until, read_all, slow: bool) -> None:
    chance = random.Random(7)
    writers = [Writer(host(name=name)) for name in ("one", "two")]
    for writer in writers:
        writer.thread.start()
    for _ in range(50 if slow else 10):
        done = sum(len(writer.confirmed) for writer in writers)
        assert until(lambda done=done: sum(len(writer.confirmed) for writer in writers) > done, 30), [w.errors for w in writers]
        time.sleep(chance.uniform(0.0, 0.3))
        killed = owner.kill()
        assert until(lambda killed=killed: owner.pid != killed, 30)
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.thread.join()
    assert [error for writer in writers for error in writer.errors] == []
    stored = {row["thought_id"]: row["content"] for row in read_all(writers[0].host, "source = 'burst'")}
    confirmed = writers[0].confirmed | writers[1].confirmed
    assert stored == confirmed
    assert [text for text, count in Counter(stored.values()).items() if count > 1] == []
    assert owner.verify()["faults"] == []


def test_a_killed_host_and_owner_leave_a_store_that_opens(host, owner, until) -> None:
    one = host()
    confirmed = [one.call("store_thought", essence=f"note {number}", content="x")["thought"]["thought_id"] for number in range(20)]
    unanswered = [one.start_call("store_thought", essence=f"late {number}", content="y") for number in range(10)]
    owner.kill()
    one.kill()
    again = host()
    assert all(again.call("get_thought", thought_id=thought)["found"] for thought in confirmed)
    count = again.call("memory_stats")["thought_count"]
    assert len(confirmed) <= count <= len(confirmed) + len(unanswered)
    assert owner.verify()["faults"] == []


def test_reads_in_flight_are_answered_by_the_next_owner(host, owner) -> None:
    one = host()
    thought = one.call("store_thought", essence="anchor", content="anchor")["thought"]["thought_id"]
    requests = [one.start_call("get_thought", thought_id=thought) for _ in range(30)]
    owner.kill()
    assert all(one.finish_call(request)["found"] for request in requests)
