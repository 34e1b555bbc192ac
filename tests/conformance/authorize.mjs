// Loaded before the conformance suite, which knows nothing of a server's own tokens: each of its requests to the
// server under test gets one on its way. Nothing else of a request is changed, so that it reaches the server with the
// Host and Origin that the suite chose.

import { subscribe } from "node:diagnostics_channel";

const server = new URL(process.env.CONFORMANCE_SERVER);
const authorization = `Bearer ${process.env.CONFORMANCE_TOKEN}`;

// `fetch`, and undici's own functions.
subscribe("undici:request:create", ({ request }) => {
  if (new URL(request.origin).host === server.host) request.addHeader("authorization", authorization);
});

// `node:http`, which tells where a request goes by its Host alone.
subscribe("http.client.request.created", ({ request }) => {
  if (request.getHeader("host") === server.host) request.setHeader("authorization", authorization);
});
