"""Runs the conformance suite of the Model Context Protocol: its server parts through a gateway, in front of the tests'
own server and of servers with the official SDKs, and its client parts against the gateway's own client. Servers with
the official SDKs are also tested alone, so that a failure shows where it comes from.

    run.py             all parts; the exit code is 0 only if there is no failure beside the known ones
    run.py --fixture   the server parts against the tests' own server alone, without a gateway
"""

import argparse
import concurrent.futures
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import known_failures
import suite

sys.path.insert(0, str(suite.FOLDER.parent / "python"))
from gateway_process import REPOSITORY, Gateway  # noqa: E402

# The tests' own server, which passes everything.
FIXTURE = "fixture"
SERVERS = suite.FOLDER / "servers"


def program(name: str) -> Path:
    """Returns the path of the last build of a program of this project."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    found = target.absolute() / "debug" / name
    if not found.exists():
        raise SystemExit(f"{found} is not there\n    hint: run cargo build --workspace --bins")
    return found


def sdk_servers() -> dict[str, list[str]]:
    """Returns the commands of the servers with the official SDKs, by name. Each prints its address."""
    return {
        "typescript": [suite.node(), str(SERVERS / "typescript.mjs")],
        "python": [sys.executable, "-W", "ignore", str(SERVERS / "python_server.py")],
    }


@contextlib.contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Runs a server on a free port. Yields its address."""
    # Its log tells of requests that the suite makes invalid on purpose.
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise SystemExit(f"{command[-1]} did not start")
            yield url
        finally:
            process.kill()


@contextlib.contextmanager
def gateway(folder: Path, upstreams: dict[str, str]) -> Iterator[Gateway]:
    """Runs a gateway in front of servers, with permission to ask clients what the suite requires."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    entry = '[servers.{}]\nurl = "{}"\nsampling = true\nroots = true\n'
    (data / "mcp.toml").write_text("".join(entry.format(*upstream) for upstream in upstreams.items()))
    started = Gateway(data).start()
    try:
        yield started
    finally:
        started.stop()


@dataclass(frozen=True)
class Run:
    """One part of the suite against one server or client."""

    outcome: suite.Outcome
    # The server under test; `None` for the gateway's client.
    server: str | None = None
    # `direct` or `gateway`.
    path: str = "gateway"

    @property
    def name(self) -> str:
        """Returns the title for output."""
        words = [self.server] if self.server not in (None, FIXTURE) else []
        words += ["direct"] if self.path == "direct" else []
        return self.outcome.leg.name + (f" ({', '.join(words)})" if words else "")

    @property
    def comparison(self) -> known_failures.Comparison:
        """Returns the failures, compared with the list of known ones."""
        if self.server in (None, FIXTURE):
            return known_failures.Comparison(self.outcome.failed, {}, [])
        return known_failures.compare(self.server, self.path, self.outcome)

    @property
    def is_good(self) -> bool:
        """Returns True if nothing failed beside the known failures, and nothing is missing."""
        required = len(self.outcome.passed) + len(self.outcome.failed)
        return not self.comparison.new and required == self.outcome.leg.required


def server_runs(name: str, path: str, target: list[str], **options) -> list[Run]:
    """Runs the server parts, one after the other, because the suite changes the server's lists."""
    return [Run(suite.run(leg, target, **options), name, path) for leg in suite.SERVER_LEGS]


def client_run(leg: suite.Leg) -> list[Run]:
    """Runs a client part."""
    return [Run(suite.run(leg, ["--command", str(program("conformance-client"))]))]


def run_all(roles: set[str], fixture_only: bool) -> list[Run]:
    """Runs the parts. Servers are independent of each other, so they are tested at the same time."""
    fixture = [str(program("fake-mcp")), "--http", "127.0.0.1:0"]
    with (
        contextlib.ExitStack() as stack,
        concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool,
    ):
        jobs: list[concurrent.futures.Future[list[Run]]] = []

        def start(run: Callable[..., list[Run]], *args, **options) -> None:
            jobs.append(pool.submit(run, *args, **options))

        if fixture_only:
            start(server_runs, FIXTURE, "direct", ["--url", stack.enter_context(serving(fixture))])
        elif "server" in roles:
            commands = {FIXTURE: fixture} | sdk_servers()
            behind = {name: stack.enter_context(serving(command)) for name, command in commands.items()}
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolway-conformance-"))
            running = stack.enter_context(gateway(Path(folder), behind))
            env = {"CONFORMANCE_SERVER": running.url, "CONFORMANCE_TOKEN": running.owner_token}
            preload = suite.FOLDER / "authorize.mjs"
            for name in behind:
                url = f"{running.url}/mcp/sources/{name}"
                start(server_runs, name, "gateway", ["--url", url], env=env, preload=preload)
            for name, command in sdk_servers().items():
                start(server_runs, name, "direct", ["--url", stack.enter_context(serving(command))])
        if "client" in roles and not fixture_only:
            for leg in suite.CLIENT_LEGS:
                start(client_run, leg)
        return [run for job in jobs for run in job.result()]


def report(runs: list[Run]) -> None:
    """Prints one line per part, followed by its failures."""
    for run in runs:
        outcome, comparison = run.outcome, run.comparison
        print(f"{run.name} {len(outcome.passed)}/{outcome.leg.required}")
        for scenario, wrong in comparison.new.items():
            print(f"    failed: {scenario}")
            for line in wrong:
                print(f"        {line}")
        for scenario in comparison.gone:
            print(f"    passes now: {scenario}; remove it from {known_failures.FILE.name}")
        if comparison.known:
            print(f"    known failures: {', '.join(comparison.known)}")
        if run.server in (None, FIXTURE):
            for scenario, wrong in outcome.unscored.items():
                print(f"    not scored: {scenario} {'failed' if wrong else 'passed'}")
                for line in wrong:
                    print(f"        {line}")
        if not outcome.passed:
            print(outcome.output)


def write_junit(path: Path, runs: list[Run]) -> None:
    """Writes a report in JUnit's format: one test for each scenario. A known failure counts as skipped."""
    root = ElementTree.Element("testsuites")
    for run in runs:
        comparison = run.comparison
        scenarios = run.outcome.passed + list(run.outcome.failed)
        if run.server not in (None, FIXTURE):
            scenarios += list(run.outcome.unscored)
        counts = {"tests": len(scenarios), "failures": len(comparison.new), "skipped": len(comparison.known)}
        counts = {name: str(count) for name, count in counts.items()}
        parts = ElementTree.SubElement(root, "testsuite", name=run.name, **counts)
        for scenario in scenarios:
            case = ElementTree.SubElement(parts, "testcase", name=scenario)
            if scenario in comparison.new:
                ElementTree.SubElement(case, "failure", message="; ".join(comparison.new[scenario]))
            elif scenario in comparison.known:
                ElementTree.SubElement(case, "skipped", message=comparison.known[scenario])
    ElementTree.ElementTree(root).write(path, encoding="unicode")


def main() -> int:
    """Runs what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixture", action="store_true", help="the server parts against the tests' own server alone")
    parser.add_argument("--role", choices=["server", "client"], help="the parts of this role only")
    parser.add_argument("--junit", type=Path, help="writes a report in JUnit's form there")
    args = parser.parse_args()
    runs = run_all({args.role} if args.role else {"server", "client"}, args.fixture)
    report(runs)
    if args.junit:
        write_junit(args.junit, runs)
    return 0 if all(run.is_good for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
