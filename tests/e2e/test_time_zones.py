"""The same moments give the same answers in every time zone of the machine."""

from __future__ import annotations

import pytest

ENDS = {
    "winter, no zone": "2026-03-08T01:59:59",
    "the skipped hour": "2026-03-08T02:30:00",
    "summer, no zone": "2026-03-08T03:00:01",
    "date only": "2026-11-01",
    "the doubled hour": "2026-11-01T01:30:00",
    "zulu": "2026-11-01T06:00:00Z",
    "offset": "2026-11-01T11:30:00+05:30",
    "blank": "2026-11-01 05:59:59.5",
}
PROBES = (
    "2026-03-08T01:59:58Z",
    "2026-03-08T02:30:00",
    "2026-03-08T03:00:00+00:00",
    "2026-10-31T19:00:00-05:00",
    "2026-11-01T01:29:59",
    "2026-11-01T06:00:00",
    "2026-11-01T11:29:59+05:30",
)
UTC_ENDS = {
    "winter, no zone": "2026-03-08T01:59:59+00:00",
    "the skipped hour": "2026-03-08T02:30:00+00:00",
    "summer, no zone": "2026-03-08T03:00:01+00:00",
    "date only": "2026-11-01T00:00:00+00:00",
    "the doubled hour": "2026-11-01T01:30:00+00:00",
    "zulu": "2026-11-01T06:00:00+00:00",
    "offset": "2026-11-01T06:00:00+00:00",
    "blank": "2026-11-01T05:59:59.500000+00:00",
}
STILL_VALID = [8, 6, 6, 4, 4, 0, 3]
"""How many of ENDS lie after each of PROBES."""


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_case_18_end_dates_mean_the_same_everywhere(host, zone: str) -> None:
    one = host(TZ=zone)
    for name, end in ENDS.items():
        one.call("store_thought", thought_id=name, essence=name, content=name, valid_until=end)
    read = {name: one.call("get_thought", thought_id=name)["thought"]["valid_until"] for name in ENDS}
    assert read == UTC_ENDS
    answers = [one.call("query_memory", query=f"FIND thoughts WHERE valid_at '{probe}'")["rows"] for probe in PROBES]
    assert [len(rows) for rows in answers] == STILL_VALID
