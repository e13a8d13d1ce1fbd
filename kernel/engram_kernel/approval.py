"""Approval: a proposal goes to the approvers in order until one decides; what was decided is exactly what was shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from engram_kernel.errors import NotAllowed, PluginFailed
from engram_kernel.model import Proposal
from engram_kernel.session import Channel, Session

Verdict = Literal["approved", "declined", "deferred", "passed"]


@dataclass(frozen=True, slots=True)
class Decision:
    """`passed`: this approver cannot serve the session, ask the next; `deferred`: a person decides later.

    `preview_hash` repeats the hash of what the person saw. `data` carries the approver's own result, such as a token.
    """

    verdict: Verdict
    preview_hash: str = ""
    approver: str = ""
    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Approver(Protocol):
    """One way to reach a person: a dialog, a single-use token, a console."""

    name: str

    async def decide(self, proposal: Proposal, session: Session, channel: Channel) -> Decision: ...


def preview_hash(preview: str) -> str:
    """SHA-256, hex, of the bytes that would be stored."""
    return hashlib.sha256(preview.encode()).hexdigest()


async def decide(proposal: Proposal, approvers: Sequence[Approver], session: Session, channel: Channel) -> Decision:
    """The first decision that is not `passed`.

    A failing approver stops the operation (PluginFailed); so does an approval whose hash is not the proposal's, and a
    proposal whose preview is not what its hash says (NotAllowed).
    """
    if preview_hash(proposal.preview) != proposal.preview_hash:
        raise NotAllowed("The proposal's text does not match its hash.", next_step="Propose it again.")
    for approver in approvers:
        try:
            decision = await approver.decide(proposal, session, channel)
        except Exception as error:
            raise PluginFailed(f"The approver {approver.name!r} failed.", data={"plugin": approver.name}) from error
        if decision.verdict == "passed":
            continue
        if decision.verdict == "approved":
            check_unchanged(decision.preview_hash, proposal.preview)
        return decision
    return Decision("passed", message="No approver could reach a person.")


def check_unchanged(approved_hash: str, stored: str) -> None:
    """Raises NotAllowed unless the bytes to be stored are byte for byte what was approved."""
    if preview_hash(stored) != approved_hash:
        raise NotAllowed("What would be stored is not what was approved.", next_step="Propose it again.")
