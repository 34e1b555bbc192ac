"""Fixtures: one gateway for the session, a factory for gateways with other settings, and `net`, which opens
sockets that are closed and checked at the end of a test."""

import contextlib
import time
from urllib.parse import quote

import httpx
import pytest
from fake_models import FakeModels
from gateway_process import Gateway
from shapes import expires_in, rows
from talking import fake_entries, start_talking
from toolway_client import Caller, DeviceV1, DeviceV2, Rest, Socket, eventually, tool, unique


class Net:
    """A gateway with helpers for tokens, sockets and REST."""

    def __init__(self, gw: Gateway, http: httpx.AsyncClient, sockets: list):
        self.gw, self.http, self.sockets = gw, http, sockets

    def on(self, gw: Gateway) -> "Net":
        """Returns the same helpers for another gateway."""
        return Net(gw, self.http, self.sockets)

    def rest(self, token: str | None = "owner") -> Rest:
        """Returns a REST client with a token; by default the owner's, None for no token."""
        return Rest(self.gw, self.gw.owner_token if token == "owner" else token, self.http)

    async def api(self) -> dict:
        """Returns the OpenAPI document."""
        return await self.rest().json("/api/openapi.json")

    # Tokens
    async def code(self, role: str = "device") -> str:
        """Creates a pairing code."""
        response = await self.rest().post("/api/pair", {"role": role})
        assert response.status_code in (200, 201), response.text
        return response.json()["code"]

    async def redeem(self, code: str, **body) -> httpx.Response:
        """POST /pair."""
        return await self.rest(None).post("/pair", body, headers={"X-Pairing-Code": code})

    async def pair(self, role: str = "device", **body) -> str:
        """Returns a token from pairing."""
        response = await self.redeem(await self.code(role), **body)
        assert response.status_code == 200, response.text
        return response.json()["token"]

    async def client(self, **body) -> str:
        """Creates a client token."""
        return (await self.client_record(**body))["token"]

    async def client_record(self, **body) -> dict:
        """Creates a client token and returns its record."""
        response = await self.rest().post("/api/tokens", {"role": "client", **body})
        assert response.status_code in (200, 201), response.text
        return response.json()

    async def expired(self) -> str:
        """Creates a client token that has expired."""
        token = await self.client(**expires_in(await self.api(), 1))

        async def refused():
            return (await self.rest(token).get("/api/tools")).status_code == 401

        await eventually(refused)
        return token

    async def revoke_device(self, slug: str) -> httpx.Response:
        """Deletes a device by its slug."""
        return await self.rest().delete(f"/api/devices/{quote(await self.device_id(slug))}")

    async def device_id(self, slug: str) -> str:
        """Returns the id of a source under /api/devices."""
        from shapes import device_id, device_of

        entry = device_of(rows(await self.rest().json("/api/devices"), "devices"), slug)
        assert entry, f"no device {slug}"
        return device_id(entry)

    async def device_entry(self, slug: str) -> dict | None:
        """Returns a device of GET /api/devices."""
        from shapes import device_of

        return device_of(rows(await self.rest().json("/api/devices"), "devices"), slug)

    # Sockets
    def keep(self, socket):
        """Closes and checks this socket at the end of the test."""
        self.sockets.append(socket)
        return socket

    async def v1(self, tools=(), *, token=None, **more) -> DeviceV1:
        """Connects a v1 client with tools, by default with a new companion token."""
        return self.keep(await DeviceV1.join(self.gw, token or await self.pair("companion"), tools, **more))

    async def v2(self, tools=(), *, token=None, name=None, device_id=None, **more) -> DeviceV2:
        """Connects a v2 device, by default with a new token, name and device_id."""
        token = token or await self.pair("device")
        name = name or unique("dev")
        device_id = device_id or f"id-{name}"
        return self.keep(await DeviceV2.join(self.gw, token, tools, name=name, device_id=device_id, **more))

    async def keep_join(self, token: str, **more) -> DeviceV2:
        """Connects a v2 device that sends only these fields."""
        return self.keep(await DeviceV2.join(self.gw, token, register=False, **more))

    async def caller(self, token=None, **more) -> Caller:
        """Connects a v2 chat client, by default with a new client token."""
        return self.keep(await Caller.join(self.gw, token or await self.client(), **more))

    async def socket(self, path: str, token=None, **more) -> Socket:
        """Opens a raw socket."""
        return self.keep(await Socket.open(self.gw, path, token, **more))

    # Tools and calls
    async def tools(self, token: str | None = "owner") -> list:
        """Returns the listed tools."""
        return rows(await self.rest(token).json("/api/tools"), "tools")

    async def names(self, source: str) -> set:
        """Returns the bare names of a source's listed tools."""
        ids = [entry["id"].split("/", 1) for entry in await self.tools()]
        return {name for slug, name in ids if slug == source}

    async def source_with(self, name: str) -> str:
        """Returns the only source with a tool of this bare name."""
        found = [e["id"].split("/", 1)[0] for e in await self.tools() if e["id"].split("/", 1)[1] == name]
        assert len(found) == 1, (name, found)
        return found[0]

    async def source_with_socket(self, device: DeviceV1) -> str:
        """Returns the source of a v1 client, by the name of a tool that only it has."""
        probe = unique("probe")
        await device.register([tool(probe)])
        return await self.source_with(probe)

    async def source_with_description(self, text: str) -> str:
        """Returns the source of the only tool with this description."""
        [found] = [e["id"].split("/", 1)[0] for e in await self.tools() if e.get("description") == text]
        return found

    async def logged(self, call: str, settled: bool = True) -> dict:
        """Returns a call record after it is written (and has its outcome)."""
        from shapes import call_status

        async def there():
            response = await self.rest().get(f"/api/calls/{call}")
            if response.status_code != 200:
                return None
            entry = response.json()
            return entry if not settled or call_status(entry) in ("success", "error") else None

        return await eventually(there)


@pytest.fixture(scope="session")
def gateway_dir(tmp_path_factory):
    """Folder of the gateways' data."""
    return tmp_path_factory.mktemp("gateways")


@pytest.fixture(scope="session")
def gateway_factory(gateway_dir):
    """Starts gateways with their own settings, which run until the end of the session. The same settings
    return the same gateway, unless `fresh`."""
    started: list[Gateway] = []
    shared: dict[str, Gateway] = {}

    def make(settings=None, args=(), fresh=False) -> Gateway:
        key = repr((settings, args))
        if not fresh and key in shared:
            return shared[key]
        gw = Gateway(gateway_dir / f"gw{len(started)}", settings, tuple(args))
        started.append(gw)
        gw.start()
        if not fresh:
            shared[key] = gw
        return gw

    yield make
    for gw in started:
        gw.kill()


#: All tests have the same address and many use invalid tokens, so a shared gateway would throttle them. The
#: throttling is tested with a separate gateway.
PATIENT = {"failed_sign_ins_per_minute": 1_000_000, "pairing_attempts_per_minute": 1_000_000}


@pytest.fixture(scope="session")
def gw(gateway_factory):
    """The gateway of most tests: defaults, with short timeouts, and without throttling."""
    return gateway_factory({"timeouts": {"approval_s": 2, "resume_grace_s": 2}, "limits": PATIENT})


@pytest.fixture(scope="session")
async def http():
    """One HTTP client for the session."""
    async with httpx.AsyncClient(timeout=20, limits=httpx.Limits(max_connections=None), trust_env=False) as client:
        yield client


@pytest.fixture
async def net(gw, http):
    """The shared gateway. Sockets that are opened through it are closed and checked at the end."""
    sockets: list[Socket] = []
    yield Net(gw, http, sockets)
    faults = []
    for socket in sockets:
        with contextlib.suppress(ConnectionError):
            try:
                await socket.close()
            except AssertionError as error:
                faults.append(str(error))
    assert not faults, faults


@pytest.fixture
async def rig(net):
    """A v2 device with one tool, and a caller: (net, device, caller, full name of the tool)."""
    device = await net.v2([tool("work")])
    caller = await net.caller()
    return net, device, caller, f"{device.source}__work"


@pytest.fixture(scope="session")
def model_servers():
    """The fake model servers, one process for the session."""
    servers = FakeModels()
    yield servers
    servers.stop()


@pytest.fixture
def fakes(model_servers):
    """The fake model servers without any answers yet."""
    model_servers.script()
    return model_servers


@pytest.fixture(scope="session")
def talking_gateway(gateway_dir, model_servers):
    """A gateway whose agents use the fake model servers: one model of each kind, named after it."""
    gateway = start_talking(
        gateway_dir / "talking", fake_entries(model_servers), model_servers.key, {"limits": PATIENT}
    )
    yield gateway
    gateway.kill()


@pytest.fixture
def talking(net, talking_gateway):
    """The helpers for that gateway."""
    return net.on(talking_gateway)


@pytest.fixture
def clock():
    """Returns the seconds since the start of the test."""
    begin = time.monotonic()
    return lambda: time.monotonic() - begin
