"""A device in its own process, for a test to kill: `device_process.py URL TOKEN NAME RUNS`.

It speaks v2 with resume, appends the id of every call it runs to the file RUNS, and never answers.
It prints one line when its tool is registered.
"""

import asyncio
import sys
from types import SimpleNamespace

from toolway_client import DeviceV2, tool


async def main(url: str, token: str, name: str, runs: str) -> None:
    gateway = SimpleNamespace(ws_url="ws" + url.removeprefix("http"))

    async def never(request):
        with open(runs, "a") as file:
            file.write(request["id"] + "\n")
        await asyncio.sleep(3600)

    device = await DeviceV2.join(
        gateway,
        token,
        [tool("work")],
        name=name,
        device_id=name,
        capabilities=("resume", "progress", "cancel"),
        handler=never,
    )
    print("ready", flush=True)
    await device.until_closed(3600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
