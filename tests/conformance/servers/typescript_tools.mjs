// The tools, prompts and resources that the conformance suite asks for, with the official TypeScript SDK. Questions of
// tools come in both styles: pushed while the tool runs (up to MCP 2025-11-25) and as a result that requires input
// (since 2026-07-28).

import { readFileSync } from 'node:fs';

import {
    McpServer,
    ResourceTemplate,
    completable,
    createRequestStateCodec,
    fromJsonSchema,
    inputRequired
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
// Pause between the messages of a tool, in milliseconds.
const PAUSE_MS = 50;
// Names and schemas are those of the tests' own server, so that both can be compared.
const DECLARED = JSON.parse(readFileSync(new URL('../../fake-mcp/src/tools.json', import.meta.url), 'utf8'));

const states = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const text = said => ({ content: [{ type: 'text', text: said }] });

const form = (message, properties, required = []) => ({
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required }
});
const name = (message = 'What is your name?') =>
    inputRequired.elicit(form(message, { name: { type: 'string' } }, ['name']));
const sure = () => inputRequired.elicit(form('Are you sure?', { ok: { type: 'boolean' } }, ['ok']));
const sampling = (prompt, maxTokens) => ({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens
});
const greeting = () => inputRequired.createMessage(sampling('Generate a greeting', 50));

// Asks for input until every question has an answer. `say` writes the result. With `hasState`, the answers so far
// travel in the request state.
async function ask(ctx, rounds, say, hasState) {
    const before = (await ctx.mcpReq.requestState()) ?? {};
    const answers = { ...before, ...ctx.mcpReq.inputResponses };
    for (const questions of rounds) {
        const missing = Object.entries(questions).filter(([key]) => answers[key] === undefined);
        if (missing.length > 0) {
            const requestState = hasState ? await states.mint(answers) : undefined;
            return inputRequired({ inputRequests: Object.fromEntries(missing), ...(requestState && { requestState }) });
        }
    }
    return say(answers);
}

const DEFAULTS = {
    name: { type: 'string', description: 'Name', default: 'John Doe' },
    age: { type: 'integer', description: 'Age', default: 30 },
    score: { type: 'number', description: 'Score', default: 95.5 },
    status: { type: 'string', description: 'Status', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', description: 'Verified', default: true }
};
const titled = (titles, noun) => titles.map((title, at) => ({ const: `value${at + 1}`, title: `${title} ${noun}` }));
const OPTIONS = ['option1', 'option2', 'option3'];
const CHOICES = {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: titled(['First', 'Second', 'Third'], 'Option') },
    legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three']
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: titled(['First', 'Second', 'Third'], 'Choice') } }
};

async function push(ctx, question, label) {
    const { action, content } = await ctx.mcpReq.elicitInput(question);
    return text(`${label}: action=${action}, content=${JSON.stringify(content ?? {})}`);
}

async function report(ctx, method, messages) {
    for (const [at, params] of messages.entries()) {
        if (at > 0) await pause(PAUSE_MS);
        await ctx.mcpReq.notify({ method, params });
    }
}

const TOOLS = {
    test_simple_text: () => text('This is a simple text response for testing.'),
    test_image_content: () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
    test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
    test_embedded_resource: () => ({
        content: [
            {
                type: 'resource',
                resource: {
                    uri: 'test://embedded-resource',
                    mimeType: 'text/plain',
                    text: 'This is an embedded resource content.'
                }
            }
        ]
    }),
    test_multiple_content_types: () => ({
        content: [
            { type: 'text', text: 'Multiple content types test:' },
            { type: 'image', data: PNG, mimeType: 'image/png' },
            {
                type: 'resource',
                resource: {
                    uri: 'test://mixed-content-resource',
                    mimeType: 'application/json',
                    text: JSON.stringify({ test: 'data', value: 123 })
                }
            }
        ]
    }),
    test_error_handling: () => {
        throw new Error('This tool intentionally returns an error for testing');
    },
    json_schema_2020_12_tool: () => text('The arguments fit.'),
    test_header_params: (_, args) => text(`The region is ${args.region}`),
    test_tool_with_logging: async ctx => {
        const messages = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
        await report(ctx, 'notifications/message', messages.map(data => ({ level: 'info', data })));
        return text('Three messages were written.');
    },
    test_logging_tool: async ctx => {
        await ctx.mcpReq.log('info', 'A message');
        return text('A message was written.');
    },
    test_tool_with_progress: async ctx => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        const step = progress => ({ progressToken, progress, total: 100, message: `${progress} of 100` });
        const messages = [0, 50, 100].map(step);
        if (progressToken !== undefined) await report(ctx, 'notifications/progress', messages);
        return text('Progress was told three times.');
    },
    test_reconnection: async ctx => {
        ctx.http?.closeSSE?.();
        await pause(PAUSE_MS * 4);
        return text('You came back.');
    },
    test_sampling: async (ctx, args) => {
        const { content } = await ctx.mcpReq.requestSampling(sampling(args.prompt, 100));
        return text(`LLM response: ${content.text}`);
    },
    test_elicitation: (ctx, args) => {
        const properties = { username: { type: 'string' }, email: { type: 'string' } };
        return push(ctx, form(args.message, properties, ['username', 'email']), 'User response');
    },
    test_elicitation_sep1034_defaults: ctx =>
        push(ctx, form('Please look over this', DEFAULTS), 'Elicitation completed'),
    test_elicitation_sep1330_enums: ctx => push(ctx, form('Please choose', CHOICES), 'Elicitation completed'),
    test_streaming_elicitation: async ctx => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        if (progressToken !== undefined) await report(ctx, 'notifications/progress', [{ progressToken, progress: 10 }]);
        return ask(ctx, [{ confirm: sure() }], () => text('Elicitation completed'));
    },
    test_missing_capability: ctx => ask(ctx, [{ greeting: greeting() }], answers => text(JSON.stringify(answers))),
    test_input_required_result_elicitation: ctx =>
        ask(ctx, [{ user_name: name() }], answers => text(`Hello, ${answers.user_name.content?.name}!`)),
    test_input_required_result_sampling: ctx => {
        const question = inputRequired.createMessage(sampling('What is the capital of France?', 100));
        return ask(ctx, [{ capital_question: question }], answers => text(answers.capital_question.content.text));
    },
    test_input_required_result_list_roots: ctx =>
        ask(ctx, [{ client_roots: inputRequired.listRoots() }], ({ client_roots }) =>
            text(`Roots: ${client_roots.roots[0]?.uri}`)
        ),
    test_input_required_result_request_state: ctx => ask(ctx, [{ confirm: sure() }], () => text('state-ok'), true),
    test_input_required_result_tampered_state: ctx => ask(ctx, [{ confirm: sure() }], () => text('state-ok'), true),
    test_input_required_result_multiple_inputs: ctx => {
        const questions = { user_name: name(), greeting: greeting(), client_roots: inputRequired.listRoots() };
        return ask(ctx, [questions], answers => text(`All was answered: ${JSON.stringify(answers)}`), true);
    },
    test_input_required_result_multi_round: ctx => {
        const color = inputRequired.elicit(
            form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color'])
        );
        const rounds = [{ step1: name('Step 1: What is your name?') }, { step2: color }];
        const finish = ({ step1, step2 }) => text(`${step1.content?.name} likes ${step2.content?.color}`);
        return ask(ctx, rounds, finish, true);
    },
    test_input_required_result_capabilities: ctx => {
        const can = ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
        const questions = {
            ...(can.elicitation && { user_name: name() }),
            ...(can.sampling && { greeting: greeting() }),
            ...(can.roots && { client_roots: inputRequired.listRoots() })
        };
        return ask(ctx, [questions], answers => text(`Answered: ${JSON.stringify(answers)}`));
    }
};

// The tool that `test_trigger_tool_change` adds and removes.
const SOMETIMES = 'test_sometimes';
let hasSometimes = false;

// Changes that a tool makes for all clients, by the tool's name.
const CHANGES = {
    test_trigger_tool_change: notify => {
        hasSometimes = !hasSometimes;
        notify.toolsChanged();
    },
    test_trigger_prompt_change: notify => notify.promptsChanged(),
    test_trigger_resource_change: notify => notify.resourcesChanged(),
    test_trigger_resource_update: notify => notify.resourceUpdated('test://watched-resource')
};

function addTools(server, notify) {
    const changes = Object.entries(CHANGES).map(([name, change]) => [
        name,
        () => {
            change(notify());
            return text('Changed.');
        }
    ]);
    const tools = [...Object.entries(TOOLS), ...changes, [SOMETIMES, () => text('It is offered now.')]];
    for (const [name, run] of tools) {
        const { title, description, inputSchema } = DECLARED.find(tool => tool.name === name);
        const config = { title, description, inputSchema: fromJsonSchema(inputSchema) };
        const tool = server.registerTool(name, config, (args, ctx) => run(ctx, args));
        if (name === SOMETIMES && !hasSometimes) tool.disable();
        if (name === SOMETIMES) sometimes.set(server, tool);
    }
}

// The changeable tool of each server.
const sometimes = new WeakMap();

// Brings a server's list of tools up to date, and tells its client.
export function updateTools(server) {
    const tool = sometimes.get(server);
    if (hasSometimes) tool.enable();
    else tool.disable();
}

function addPrompts(server) {
    const user = content => ({ role: 'user', content });
    const said = text => user({ type: 'text', text });
    const prompt = (name, argsSchema, messages) =>
        server.registerPrompt(name, { description: name, argsSchema }, messages);
    prompt('test_simple_prompt', undefined, () => ({ messages: [said('This is a simple prompt for testing.')] }));
    const words = typed => ['paris', 'park', 'party', 'test-city'].filter(word => word.startsWith(typed));
    const two = z.object({
        arg1: completable(z.string().describe('First test argument'), words),
        arg2: completable(z.string().describe('Second test argument'), words)
    });
    prompt('test_prompt_with_arguments', two, ({ arg1, arg2 }) => ({
        messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)]
    }));
    prompt('test_prompt_with_embedded_resource', z.object({ resourceUri: z.string() }), ({ resourceUri: uri }) => ({
        messages: [
            user({
                type: 'resource',
                resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
            }),
            said('Please process the embedded resource above.')
        ]
    }));
    prompt('test_prompt_with_image', undefined, () => ({
        messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), said('Please analyze the image above.')]
    }));
    prompt('test_input_required_result_prompt', undefined, ctx => {
        const question = inputRequired.elicit(
            form('What context should the prompt use?', { context: { type: 'string' } }, ['context'])
        );
        const finish = answers => ({ messages: [said(`Use this context: ${JSON.stringify(answers)}`)] });
        return ask(ctx, [{ user_context: question }], finish);
    });
}

function addResources(server) {
    const plain = { mimeType: 'text/plain' };
    const fixed = (name, text) =>
        server.registerResource(name, `test://${name}`, plain, uri => ({
            contents: [{ uri: uri.href, ...plain, text }]
        }));
    fixed('static-text', 'This is the content of the static text resource.');
    fixed('watched-resource', 'It changes when a tool says so.');
    const image = { mimeType: 'image/png' };
    server.registerResource('static-binary', 'test://static-binary', image, uri => ({
        contents: [{ uri: uri.href, ...image, blob: PNG }]
    }));
    const json = { mimeType: 'application/json' };
    const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
    server.registerResource('template', template, json, (uri, { id }) => ({
        contents: [
            { uri: uri.href, ...json, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
        ]
    }));
}

// A server for one session or one request. `notify` returns the publisher of changes.
export function createServer(notify) {
    const server = new McpServer(
        { name: 'toolway-conformance-typescript', version: '1.0.0' },
        {
            capabilities: {
                tools: { listChanged: true },
                prompts: { listChanged: true },
                resources: { subscribe: true, listChanged: true },
                logging: {},
                completions: {}
            },
            requestState: { verify: states.verify }
        }
    );
    addTools(server, notify);
    addPrompts(server);
    addResources(server);
    return server;
}
