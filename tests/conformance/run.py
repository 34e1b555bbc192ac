"""Runs the conformance suite of the Model Context Protocol: its server legs through a gateway that stands in front of a
server which passes them, and its client legs against the gateway's own client for such servers.

    run.py             all legs; ends with 0 only where every required scenario passed
    run.py --fixture   the server legs against the server alone, without a gateway
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import suite

sys.path.insert(0, str(suite.FOLDER.parent / "python"))
from gateway_process import REPOSITORY, Gateway  # noqa: E402

# The name of the server among those behind the gateway, and so of its source.
NAME = "fixture"


def program(name: str) -> Path:
    """Returns the path of the last build of a program of this project."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    found = target.absolute() / "debug" / name
    if not found.exists():
        raise SystemExit(f"{found} is not there\n    hint: run cargo build --workspace --bins")
    return found


@contextlib.contextmanager
def fixture(*arguments: str) -> Iterator[str]:
    """Runs the server that passes the suite, on a free port. Yields its address."""
    command = [program("fake-mcp"), "--http", "127.0.0.1:0", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextlib.contextmanager
def gateway(folder: Path, upstream: str) -> Iterator[Gateway]:
    """Runs a gateway in front of a server, with permission to ask clients what the suite requires."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    (data / "mcp.toml").write_text(f'[servers.{NAME}]\nurl = "{upstream}"\nsampling = true\nroots = true\n')
    started = Gateway(data).start()
    try:
        yield started
    finally:
        started.stop()


def alone() -> list[suite.Outcome]:
    """Runs the server parts against the server alone."""
    with fixture() as url:
        return [suite.run(leg, ["--url", url]) for leg in suite.SERVER_LEGS]


def through_gateway() -> list[suite.Outcome]:
    """Runs the server parts through a gateway."""
    with (
        tempfile.TemporaryDirectory(prefix="toolway-conformance-") as folder,
        fixture() as upstream,
        gateway(Path(folder), upstream) as running,
    ):
        url = f"{running.url}/mcp/sources/{NAME}"
        env = {"CONFORMANCE_SERVER": running.url, "CONFORMANCE_TOKEN": running.owner_token}
        preload = suite.FOLDER / "authorize.mjs"
        return [suite.run(leg, ["--url", url], env, preload) for leg in suite.SERVER_LEGS]


def with_client() -> list[suite.Outcome]:
    """Runs the client parts."""
    command = str(program("conformance-client"))
    return [suite.run(leg, ["--command", command]) for leg in suite.CLIENT_LEGS]


def report(outcomes: list[suite.Outcome], note: str) -> None:
    """Prints one line per part, followed by its failures."""
    for outcome in outcomes:
        print(outcome.line() + note)
        for scenario, wrong in outcome.failed.items():
            print(f"    {scenario}")
            for line in wrong:
                print(f"        {line}")
        for scenario, wrong in outcome.unscored.items():
            print(f"    not scored: {scenario} {'failed' if wrong else 'passed'}")
            for line in wrong:
                print(f"        {line}")
        if not outcome.passed:
            print(outcome.output)


def write_junit(path: Path, outcomes: list[suite.Outcome]) -> None:
    """Writes a report in JUnit's format: one test for each required scenario."""
    root = ElementTree.Element("testsuites")
    for outcome in outcomes:
        tests, failures = len(outcome.passed) + len(outcome.failed), len(outcome.failed)
        counts = {"tests": str(tests), "failures": str(failures)}
        legs = ElementTree.SubElement(root, "testsuite", name=outcome.leg.name, **counts)
        for scenario in outcome.passed:
            ElementTree.SubElement(legs, "testcase", name=scenario)
        for scenario, wrong in outcome.failed.items():
            case = ElementTree.SubElement(legs, "testcase", name=scenario)
            ElementTree.SubElement(case, "failure", message="; ".join(wrong))
    ElementTree.ElementTree(root).write(path, encoding="unicode")


def main() -> int:
    """Runs what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixture", action="store_true", help="the server legs against the server alone")
    parser.add_argument("--role", choices=["server", "client"], help="the legs of this role only")
    parser.add_argument("--junit", type=Path, help="writes a report in JUnit's form there")
    args = parser.parse_args()
    outcomes = []
    if args.fixture:
        outcomes += alone()
    else:
        outcomes += through_gateway() if args.role != "client" else []
        outcomes += with_client() if args.role != "server" else []
    report(outcomes, " (fixture alone)" if args.fixture else "")
    if args.junit:
        write_junit(args.junit, outcomes)
    return 0 if all(outcome.is_full for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
