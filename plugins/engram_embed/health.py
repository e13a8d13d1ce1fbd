"""What `engram doctor` says about the embedding."""

from __future__ import annotations

from engram_embed.model import Model
from engram_embed.worker import Report
from engram_kernel.services import Finding

OFF = Finding("ok", "Embedding is switched off; search uses words only.")
NOT_RUNNING = Finding("error", "Embedding is not running.", "Look for an error of the plugin embed in the log and check its settings.")


def findings(model: Model, report: Report) -> list[Finding]:
    """One line on the model, and one on the memories that wait."""
    return [_model(model), _progress(report)]


def _model(model: Model) -> Finding:
    named = f"model {model.name or 'not known yet'}, {model.state}"
    if model.state == "unusable":
        return Finding("error", f"{named}: {model.trouble}", "Search uses words only until this is mended and the owner started again.")
    if model.state == "unreachable":
        return Finding("warning", f"{named}: {model.trouble}", "It is tried again by itself; meanwhile search uses words only.")
    return Finding("ok", named)


def _progress(report: Report) -> Finding:
    share = 100 * report.reached // max(report.last, 1)
    text = f"{report.embedded:,} memories embedded since the start"
    if report.busy:
        text += f", {report.waiting:,} new ones waiting; change {report.reached:,} of {report.last:,} reached ({share} %)"
    if report.skipped:
        text += f"; the provider refused {report.skipped:,}"
    if report.trouble:
        return Finding("warning", f"{text}; {report.trouble}", "Memories that wait are embedded as soon as it works again.")
    if report.skipped:
        return Finding("warning", text, "The log names them; they are found by their words.")
    return Finding("ok", text)
