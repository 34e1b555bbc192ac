"""The conformance suite: its requirements, a run, and its results."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"
# A whole part takes some seconds; a longer run waits for something that will not happen.
TIMEOUT_S = 300


@dataclass(frozen=True)
class Leg:
    """A part of the suite: a role, a revision of the specification, and the number of required scenarios."""

    role: str
    revision: str
    required: int
    # True if the suite has a list of required scenarios for this revision; otherwise all applicable scenarios
    # are required.
    frozen: bool = True
    # Scenarios of extensions that Toolway has. The list of the revision does not require them.
    extensions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the title for output."""
        return f"{self.role} {self.revision}"

    def arguments(self) -> list[str]:
        """Returns the suite's arguments that select the scenarios."""
        return ["--requirements" if self.frozen else "--spec-version", self.revision]


SERVER_LEGS = [
    Leg("server", "2025-06-18", 27, frozen=False),
    Leg("server", "2025-11-25", 30),
    Leg("server", "2026-07-28", 37),
]
# Tokens without a person, and tokens that are bound to a key.
AUTH_EXTENSIONS = (
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
)
CLIENT_LEGS = [
    Leg("client", "2025-11-25", 18 + len(AUTH_EXTENSIONS), extensions=AUTH_EXTENSIONS),
    Leg("client", "2026-07-28", 32 + len(AUTH_EXTENSIONS), extensions=AUTH_EXTENSIONS),
]


@dataclass
class Outcome:
    """Result of one part."""

    leg: Leg
    passed: list[str] = field(default_factory=list)
    # Findings by scenario.
    failed: dict[str, list[str]] = field(default_factory=dict)
    unscored: dict[str, list[str]] = field(default_factory=dict)
    # Complete output of the suite.
    output: str = ""


def requirements(revision: str) -> dict[str, list[str]]:
    """Returns the scenarios in a revision's list, by `server`, `client`, and the same two with `not_scored`
    before them. The list is YAML of a simple form."""
    found: dict[str, list[str]] = {}
    section, scenario = "", ""
    for line in (PACKAGE / "requirements" / f"{revision}.yaml").read_text().splitlines():
        text = line.strip()
        if line and not line[0].isspace() and text.endswith(":"):
            section = text.removesuffix(":")
        elif text.startswith("- scenario:"):
            scenario = text.removeprefix("- scenario:").strip()
        elif text.startswith("leg:"):
            found.setdefault(f"not_scored {text.removeprefix('leg:').strip()}", []).append(scenario)
        elif text.startswith("- ") and section in ("server", "client"):
            found.setdefault(section, []).append(text.removeprefix("- "))
    return found


def node() -> str:
    """Returns the path of Node as installed by scripts/bootstrap.sh."""
    found = Path(sys.prefix) / "bin" / "toolway-node"
    if not found.exists() or not PACKAGE.exists():
        raise SystemExit(f"{found} or {PACKAGE} is not there\n    hint: run scripts/bootstrap.sh test")
    return str(found)


def run(leg: Leg, target: list[str], env: dict[str, str] | None = None, preload: Path | None = None) -> Outcome:
    """Runs a part. `target` has the suite's arguments for the server's address or the client's command."""
    command = [node()]
    if preload:
        command += ["--import", str(preload)]
    with tempfile.TemporaryDirectory(prefix="toolway-conformance-") as results:
        command += [str(PACKAGE / "dist" / "index.js"), leg.role, *target, *leg.arguments(), "-o", results]
        ran = subprocess.run(
            command,
            cwd=results,
            # The client under test inherits the environment, and must not use a developer's settings.
            env={k: v for k, v in os.environ.items() if not k.startswith(("TOOLWAY_", "MCP_"))} | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
        return judge(leg, found_in(Path(results)), ran.stdout.decode(errors="replace"))


def found_in(results: Path) -> dict[str, list[str]]:
    """Returns the findings by scenario; empty if it passed."""
    found = {}
    for file in sorted(results.rglob("checks.json")):
        # The suite names a scenario's folder after it and the time, `server-ping-2026-01-02T03-04-05-678Z`.
        name = str(file.parent.relative_to(results)).removeprefix("server-")[: -len("-2026-01-02T03-04-05-678Z")]
        checks = json.loads(file.read_text())
        wrong = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
        found[name] = [f"{check['id']}: {check.get('errorMessage') or check['description']}" for check in wrong]
        if not wrong and not any(check["status"] == "SUCCESS" for check in checks):
            found[name] = [f"the suite checked nothing: {check.get('errorMessage')}" for check in checks[:1]]
    return found


def judge(leg: Leg, found: dict[str, list[str]], output: str) -> Outcome:
    """Compares the findings with the requirements."""
    outcome = Outcome(leg, output=output)
    required, unscored = list(found), []
    if leg.frozen:
        lists = requirements(leg.revision)
        required = lists[leg.role] + list(leg.extensions)
        unscored = [name for name in lists.get(f"not_scored {leg.role}", []) if name not in leg.extensions]
    for scenario in required:
        wrong = found.get(scenario, ["it did not run"])
        if wrong:
            outcome.failed[scenario] = wrong
        else:
            outcome.passed.append(scenario)
    outcome.unscored = {scenario: found.get(scenario, ["it did not run"]) for scenario in unscored}
    return outcome
