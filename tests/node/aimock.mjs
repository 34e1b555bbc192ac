// A foreign mock of model providers, @copilotkit/aimock, as a server: prints where it is, and serves until its
// standard input ends. Its faults are drawn from a generator with a seed, so that a run can be had again.
//
//   node aimock.mjs SEED TOOL
//
// TOOL is what the model calls first; then it says a text with the tool's result in it. What the last message of the
// person says decides what goes wrong on the way:
//
//   calm         nothing
//   chaos        any request may be dropped (500), malformed, refused (429) or cut before its first byte
//   truncated    the text ends after three chunks, and with it the connection
import { createInterface } from "node:readline";
import { LLMock } from "@copilotkit/aimock";

const [seed, tool] = [Number(process.argv[2]), process.argv[3]];

// mulberry32: the faults come of Math.random.
let state = seed >>> 0;
Math.random = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const TEXT = "The battery of the phone is at 81 percent, which will last until this evening.";
const faults = { dropRate: 0.15, malformedRate: 0.15, rateLimitRate: 0.15, disconnectRate: 0.15 };
const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 8, logLevel: "silent" });

const modes = { calm: {}, chaos: { chaos: faults }, truncated: { truncateAfterChunks: 3, latency: 2 } };
for (const [mode, more] of Object.entries(modes)) {
  mock.addFixture({
    match: { userMessage: mode, hasToolResult: false },
    response: { toolCalls: [{ name: tool, arguments: "{}" }] },
    ...(mode === "chaos" ? more : {}),
  });
  mock.addFixture({ match: { userMessage: mode, hasToolResult: true }, response: { content: TEXT }, ...more });
}

await mock.start();
console.log(JSON.stringify({ event: "ready", url: mock.url, text: TEXT }));
for await (const line of createInterface({ input: process.stdin })) void line;
await mock.stop();
