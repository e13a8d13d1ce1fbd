"""The approval pipeline: order, hashes, failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from engram_kernel import approval
from engram_kernel.approval import Decision, Verdict
from engram_kernel.errors import NotAllowed, PluginFailed
from engram_kernel.model import Proposal
from engram_kernel.session import Channel, Session, SilentChannel

PROPOSAL = Proposal(id="p", collection="c", title="t", preview="text", preview_hash=approval.preview_hash("text"))


class Fixed:
    def __init__(self, verdict: Verdict, shown: str = "text", *, fails: bool = False) -> None:
        self.name, self.verdict, self.shown, self.fails, self.asked = verdict, verdict, shown, fails, 0

    async def decide(self, proposal: Proposal, session: Session, channel: Channel) -> Decision:
        self.asked += 1
        if self.fails:
            raise OSError("dialog broke")
        return Decision(self.verdict, approval.preview_hash(self.shown), self.name)


def decide(*approvers: Fixed, proposal: Proposal = PROPOSAL) -> Decision:
    return asyncio.run(approval.decide(proposal, approvers, Session(), SilentChannel()))


@pytest.mark.parametrize("verdict", ["approved", "declined", "deferred"])
def test_the_first_that_decides_ends_it(verdict: Verdict) -> None:
    first, second, third = Fixed("passed"), Fixed(verdict), Fixed("approved")
    assert decide(first, second, third).verdict == verdict
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_nobody_to_ask_approves_nothing() -> None:
    assert decide().verdict == "passed"
    assert decide(Fixed("passed")).verdict == "passed"


def test_an_approval_of_other_text_is_refused() -> None:
    with pytest.raises(NotAllowed, match="not what was approved"):
        decide(Fixed("approved", shown="other text"))


def test_a_proposal_that_is_not_what_its_hash_says_is_refused() -> None:
    asked = Fixed("approved")
    with pytest.raises(NotAllowed, match="does not match"):
        decide(asked, proposal=replace(PROPOSAL, preview="changed"))
    assert asked.asked == 0


def test_a_failing_approver_stops_the_operation() -> None:
    last = Fixed("approved")
    with pytest.raises(PluginFailed) as caught:
        decide(Fixed("declined", fails=True), last)
    assert last.asked == 0 and caught.value.data["plugin"] == "declined"


def test_what_is_stored_must_be_byte_for_byte_what_was_approved() -> None:
    approval.check_unchanged(approval.preview_hash("é"), "é")
    with pytest.raises(NotAllowed):
        approval.check_unchanged(approval.preview_hash("é"), "e\u0301")
