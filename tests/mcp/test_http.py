"""Streamable HTTP: who gets in, both eras, a clean end."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import stat

import pytest

from engram_kernel.errors import ConfigError
from engram_mcp import http as service

pytestmark = pytest.mark.anyio
META = "io.modelcontextprotocol/"
ACCEPT = "application/json, text/event-stream"


class Site:
    """A running service and a client without any library."""

    def __init__(self, port, folder, task):
        self.port, self.folder, self.task = port, folder, task

    @property
    def token(self):
        return service.access_token(self.folder)

    def _post(self, body, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    async def post(self, message, *, auth=True, **headers):
        sent = {"Content-Type": "application/json", "Accept": ACCEPT}
        if auth:
            sent["Authorization"] = f"Bearer {self.token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await asyncio.to_thread(self._post, body, sent)

    async def modern(self, method, params=None, caps=None, **headers):
        meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientInfo": {"name": "web", "version": "0"}}
        meta[f"{META}clientCapabilities"] = caps or {}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
        name = (params or {}).get("name") or (params or {}).get("uri")
        routing = {"Mcp_Method": method, "MCP_Protocol_Version": "2026-07-28", **({"Mcp_Name": name} if name else {})}
        status, _, body = await self.post(message, **routing, **headers)
        return status, json.loads(body)


def first_event(body):
    return json.loads(next(line[5:] for line in body.decode().splitlines() if line.startswith("data:") and len(line) > 6))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def opened(world, folder, port, **options):
    task = asyncio.ensure_future(world.kernel.services["http"].run(world.kernel, {"port": str(port), **options}))
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            break
    return Site(port, folder, task)


@pytest.fixture
async def site(world, tmp_path):
    made = await opened(world, tmp_path, free_port())
    yield made
    made.task.cancel()
    await asyncio.gather(made.task, return_exceptions=True)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "web", "version": "0"}}


async def test_only_the_token_of_the_data_folder_opens_the_door(site):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": site.token}, {"Authorization": f"Basic {site.token}"}):
        status, answered, body = await site.post(PING, auth=False, **headers)
        assert status == 401
        assert answered["www-authenticate"].startswith("Bearer")
        assert site.token.encode() not in body
    assert (await site.modern("tools/list"))[0] == 200


async def test_the_token_is_private_and_stays_the_same(site, tmp_path):
    path = tmp_path / "http.token"
    first = site.token
    path.chmod(0o644)
    assert service.access_token(tmp_path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first) >= 40
    path.write_text("")
    assert service.access_token(tmp_path) not in ("", first)


async def test_foreign_hosts_and_origins_are_turned_away(site):
    assert (await site.modern("tools/list"))[0] == 200
    status, _, _ = await site.post(PING, Host="evil.example.com")
    assert status == 421
    status, _, _ = await site.post(PING, Origin="https://evil.example.com")
    assert status == 403


async def test_both_eras_on_one_path(site, world):
    status, answer = await site.modern("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
    assert (status, answer["result"]["structuredContent"]["said"]) == (200, "hi")
    status, headers, body = await site.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
    assert first_event(body)["result"]["serverInfo"]["name"] == "engram-kernel"
    session = {"Mcp_Session_Id": headers["mcp-session-id"], "MCP_Protocol_Version": "2025-11-25"}
    assert (await site.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session))[0] == 202
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "ho"}}}
    _, _, body = await site.post(call, **session)
    assert first_event(body)["result"]["structuredContent"]["said"] == "ho"
    new, old = world.demo.sessions
    assert new.actor == old.actor == "mcp:web"
    assert new.id != old.id


async def test_a_dialog_over_http_in_the_modern_era(site, world):
    caps, save = {"elicitation": {}}, {"name": "save", "arguments": {"text": "x"}}
    _, asked = await site.modern("tools/call", save, caps)
    assert asked["result"]["resultType"] == "input_required"
    yes = {"answer": {"action": "accept", "content": {"agree": True}}}
    retry = {**save, "requestState": asked["result"]["requestState"], "inputResponses": yes}
    _, done = await site.modern("tools/call", retry, caps)
    assert done["result"]["structuredContent"]["kept"] is True
    status, again = await site.modern("tools/call", retry, caps)
    assert (status, again["error"]["code"]) == (400, -32602)
    assert world.store.notes == ["x"]


async def test_unusable_text_is_answered_over_http_too(site):
    status, answer = await site.modern("tools/call", {"name": "echo", "arguments": {"text": "a\ud800"}})
    assert status == 400
    assert answer["error"]["code"] in (-32602, -32700)


async def test_cancelling_the_service_closes_the_port(world, tmp_path):
    made = await opened(world, tmp_path, free_port(), require_token="false")
    assert (await made.post(PING, auth=False))[0] != 401
    made.task.cancel()
    await asyncio.wait_for(asyncio.gather(made.task, return_exceptions=True), 10)
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", made.port)
    assert not (tmp_path / "http.token").exists()


async def test_a_taken_port_is_an_error_not_an_exit(world, site):
    with pytest.raises(ConfigError, match="cannot listen"):
        await asyncio.wait_for(world.kernel.services["http"].run(world.kernel, {"port": str(site.port)}), 10)


@pytest.mark.parametrize(
    "bad", [{"host": "0.0.0.0"}, {"host": "example.com"}, {"port": "99999"}, {"port": "x"}, {"require_token": "maybe"}]
)
async def test_unusable_options_are_refused_by_name(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        service.read_options({}, bad)
