"""Runs Node programs for tests. `scripts/bootstrap.sh test` installs Node and the packages in
tests/node/package-lock.json."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from gateway_process import REPOSITORY

FOLDER = REPOSITORY / "tests" / "node"


def node() -> str:
    """Returns the path of Node."""
    found = Path(sys.prefix) / "bin" / "toolway-node"
    assert found.exists(), f"{found} is not there; run scripts/bootstrap.sh test"
    return str(found)


def environment(**more: str) -> dict:
    """Returns the environment of a program."""
    return {"PATH": os.environ.get("PATH", ""), **more}


async def run_node(script: str, *args: str, timeout: float = 60, **env: str) -> None:
    """Runs a script to its end and asserts success."""
    await node_output(script, *args, timeout=timeout, **env)


async def node_output(script: str, *args: str, timeout: float = 60, **env: str) -> str:
    """Returns the output of a script and asserts success."""
    process = await asyncio.create_subprocess_exec(
        node(),
        script,
        *args,
        cwd=FOLDER,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), timeout)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, output.decode(errors="replace")
    return output.decode()
