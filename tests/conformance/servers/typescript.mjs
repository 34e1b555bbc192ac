// A small MCP server with the official TypeScript SDK, for the conformance suite: MCP 2026-07-28 and, with sessions,
// every version before. Listens on a free port and prints its address.

import { createServer as listen } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    WebStandardStreamableHTTPServerTransport,
    createMcpHandler,
    hostHeaderValidationResponse,
    isLegacyRequest,
    localhostAllowedHostnames,
    localhostAllowedOrigins,
    originValidationResponse
} from '@modelcontextprotocol/server';

import { createServer, updateTools } from './typescript_tools.mjs';

// Time after which a client should come back to a closed stream, in milliseconds.
const RETRY_MS = 100;

// Events of the streams of one session, for clients that come back.
class Events {
    #events = [];

    async storeEvent(stream, message) {
        return String(this.#events.push({ stream, message }));
    }

    async getStreamIdForEventId(id) {
        return this.#events[Number(id) - 1]?.stream;
    }

    async replayEventsAfter(last, { send }) {
        const stream = await this.getStreamIdForEventId(last);
        for (const [at, event] of this.#events.entries()) {
            const isMissed = at >= Number(last) && event.stream === stream && Object.keys(event.message).length > 0;
            if (isMissed) await send(String(at + 1), event.message);
        }
        return stream;
    }
}

// The sessions of clients before 2026-07-28, by id.
const sessions = new Map();

// Tells every session of a change, and every subscription of 2026-07-28.
function notifyAll() {
    const all = [...sessions.values()].map(({ server }) => server);
    return {
        toolsChanged: () => {
            modern.notify.toolsChanged();
            all.forEach(updateTools);
        },
        promptsChanged: () => {
            modern.notify.promptsChanged();
            all.forEach(server => server.sendPromptListChanged());
        },
        resourcesChanged: () => {
            modern.notify.resourcesChanged();
            all.forEach(server => server.sendResourceListChanged());
        },
        resourceUpdated: uri => {
            modern.notify.resourceUpdated(uri);
            for (const { server, watched } of sessions.values()) {
                if (watched.has(uri)) server.server.sendResourceUpdated({ uri });
            }
        }
    };
}

const modern = createMcpHandler(() => createServer(notifyAll), { legacy: 'reject' });

async function openSession() {
    const server = createServer(notifyAll);
    const watched = new Set();
    server.server.setRequestHandler('resources/subscribe', ({ params }) => (watched.add(params.uri), {}));
    server.server.setRequestHandler('resources/unsubscribe', ({ params }) => (watched.delete(params.uri), {}));
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: id => void sessions.set(id, { transport, server, watched }),
        onsessionclosed: id => void sessions.delete(id),
        eventStore: new Events(),
        retryInterval: RETRY_MS
    });
    await server.connect(transport);
    return transport;
}

async function serveSession(request) {
    const id = request.headers.get('mcp-session-id');
    if (id !== null && !sessions.has(id)) {
        const error = { code: -32001, message: 'Session not found' };
        return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
    }
    const transport = id === null ? await openSession() : sessions.get(id).transport;
    return transport.handleRequest(request);
}

async function serve(request) {
    const rejection =
        hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
        originValidationResponse(request, localhostAllowedOrigins());
    if (rejection) return rejection;
    return (await isLegacyRequest(request)) ? serveSession(request) : modern.fetch(request);
}

const http = listen(toNodeHandler({ fetch: serve }));
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
