// The OpenAI-compatible API, through the official Node SDK. The tests in tests/python start a gateway and say what
// its model answers; this runs one case and fails where the SDK sees something else.
//
//   API_URL=http://127.0.0.1:PORT/v1 API_TOKEN=… node openai_api.mjs CASE
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.API_URL, apiKey: process.env.API_TOKEN, maxRetries: 0 });
const ask = (content, more = {}) => ({ model: "default", messages: [{ role: "user", content }], ...more });

const cases = {
  async models() {
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes("default"), ids.join());
  },

  async whole() {
    const answer = await client.chat.completions.create(ask("How full is it?"));
    assert.equal(answer.choices[0].message.content.replace(/\s+/g, " "), "I look. 81 percent.");
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.equal(answer.usage.total_tokens, 235);
    assert.equal(answer.toolway.calls[0].status, "success");
  },

  async stream() {
    const request = ask("How full is it?", { stream: true, stream_options: { include_usage: true } });
    let text = "";
    let usage = null;
    const events = [];
    for await (const chunk of await client.chat.completions.create(request)) {
      text += chunk.choices[0]?.delta?.content ?? "";
      usage = chunk.usage ?? usage;
      if (chunk.toolway) events.push(chunk.toolway.event);
    }
    assert.equal(text.replace(/\s+/g, " "), "I look. 81 percent.");
    assert.equal(usage.total_tokens, 235);
    assert.deepEqual(events.filter((event) => event.startsWith("tool_") || event === "done"), [
      "tool_call",
      "tool_result",
      "done",
    ]);
  },

  // The SDK's own loop: it runs the program's tool and sends the conversation again.
  async tools() {
    const cities = [];
    const runner = client.chat.completions.runTools(
      ask("And the weather?", {
        stream: true,
        tools: [
          {
            type: "function",
            function: {
              name: "weather",
              description: "The weather",
              parameters: { type: "object", properties: { city: { type: "string" } } },
              parse: JSON.parse,
              function: ({ city }) => {
                cities.push(city);
                return "rain";
              },
            },
          },
        ],
      }),
    );
    assert.equal(await runner.finalContent(), "It rains in Bonn.");
    assert.deepEqual(cities, ["Bonn"]);
  },

  async abort() {
    const stream = await client.chat.completions.create(ask("Tell me a long story.", { stream: true }));
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta?.content) break;
    }
    assert.ok(stream.controller.signal.aborted, "leaving the loop aborts the request");
  },

  async error() {
    let text = "";
    await assert.rejects(
      async () => {
        for await (const chunk of await client.chat.completions.create(ask("Fail.", { stream: true }))) {
          text += chunk.choices[0]?.delta?.content ?? "";
        }
      },
      (error) => error instanceof OpenAI.APIError && /so it is said/.test(error.message),
    );
    assert.equal(text, "half ");
  },

  async refused() {
    await assert.rejects(client.chat.completions.create({ ...ask("hi"), model: "nobody" }), OpenAI.NotFoundError);
    const stranger = new OpenAI({ baseURL: process.env.API_URL, apiKey: "wrong", maxRetries: 0 });
    await assert.rejects(stranger.chat.completions.create(ask("hi")), OpenAI.AuthenticationError);
  },
};

await cases[process.argv[2]]();
