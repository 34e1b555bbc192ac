// The gateway's MCP server, through the official TypeScript clients of both generations. The tests in tests/python start
// a gateway and a device; this uses the device's tools, and prints as JSON what the client saw.
//
//   MCP_URL=http://127.0.0.1:PORT/mcp MCP_TOKEN=… MCP_COMMAND='["toolway","mcp",…]' \
//     node mcp.mjs client|sdk stdio|http legacy|modern SOURCE
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [library, transport, era, source] = process.argv.slice(2);
const named = (tool) => `${source}__${tool}`;

const asked = [];
const answer = (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { decision: "allow" } };
};
let changed;
const change = new Promise((resolve) => (changed = resolve));
const info = { name: "node-tests", version: "1.0.0" };
const capabilities = { elicitation: {} };

const makers = {
  client() {
    const client = new Client2(info, {
      capabilities,
      versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } },
    });
    client.setRequestHandler("elicitation/create", answer);
    return { client, Stdio: Stdio2, Http: Http2 };
  },
  sdk() {
    const client = new Client1(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, answer);
    client.setNotificationHandler(ToolListChangedNotificationSchema, changed);
    return { client, Stdio: Stdio1, Http: Http1 };
  },
};

const { client, Stdio, Http } = makers[library]();
const open = {
  stdio() {
    const [command, ...args] = JSON.parse(process.env.MCP_COMMAND);
    return new Stdio({ command, args });
  },
  http() {
    const headers = { Authorization: `Bearer ${process.env.MCP_TOKEN}` };
    return new Http(new URL(process.env.MCP_URL), { requestInit: { headers } });
  },
};

const call = (tool, args = {}, options = undefined) =>
  library === "sdk"
    ? client.callTool({ name: named(tool), arguments: args }, undefined, options)
    : client.callTool({ name: named(tool), arguments: args }, options);

await client.connect(open[transport]());
const seen = { server: client.getServerVersion() };

const { tools } = await client.listTools();
seen.tools = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
seen.echo = await call("echo", { text: "héllo", count: 2 });
seen.picture = await call("picture");
seen.measure = await call("measure");
seen.fails = await call("fails");

try {
  seen.unknown = await call("nothing");
} catch (error) {
  seen.unknown = { code: error.code };
}

seen.progress = [];
const stop = new AbortController();
try {
  seen.slow = await call("slow", {}, {
    signal: stop.signal,
    onprogress: (progress) => {
      seen.progress.push(progress);
      if (seen.progress.length === 2) stop.abort("enough");
    },
  });
} catch (error) {
  seen.cancelled = String(error?.message ?? error);
}

seen.guarded = await call("guarded");
seen.asked = asked;

await call("grow");
await Promise.race([change, new Promise((_, reject) => setTimeout(reject, 15_000, new Error("no list change")))]);
const more = await client.listTools(undefined, library === "client" ? { cacheMode: "refresh" } : undefined);
seen.grown = more.tools.map((tool) => tool.name);
seen.late = await call("late");

await client.close();
console.log(JSON.stringify(seen));
