"""Scenarios that fail for a reason outside the gateway, by server, part and path (`known_failures.json`). A scenario
that is not listed must pass."""

import json
from dataclasses import dataclass

import suite

FILE = suite.FOLDER / "known_failures.json"


@dataclass(frozen=True)
class Comparison:
    """Failures of one run, compared with the list."""

    # Findings by scenario.
    new: dict[str, list[str]]
    # Reasons by scenario.
    known: dict[str, str]
    # Scenarios that are listed and pass.
    gone: list[str]


def listed(server: str, part: str, path: str) -> dict[str, str]:
    """Returns the reasons by scenario. `path` is `direct` or `gateway`."""
    scenarios = json.loads(FILE.read_text()).get(server, {}).get(part, {})
    return {name: entry["reason"] for name, entry in scenarios.items() if entry[path] == "fails"}


def compare(server: str, path: str, outcome: suite.Outcome) -> Comparison:
    """Compares all scenarios of a run with the list, those that are not scored too."""
    reasons = listed(server, outcome.leg.name, path)
    failed = outcome.failed | {name: wrong for name, wrong in outcome.unscored.items() if wrong}
    return Comparison(
        new={name: wrong for name, wrong in failed.items() if name not in reasons},
        known={name: reason for name, reason in reasons.items() if name in failed},
        gone=[name for name in reasons if name not in failed],
    )
