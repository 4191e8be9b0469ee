// modern-server.mjs - a 2026-07-28 server on the official SDK 2.x, over stdio or HTTP.
//
//   MCPLUG_TEST_NPM=DIR node modern-server.mjs [--both] [--late=MS] [--http=PORT]
//
// It speaks no older revision, so that whoever gets an answer spoke this one; with
// --both it does. With --late it takes that long to start. Over HTTP it listens on
// 127.0.0.1, and serves any path.
import http from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(`${process.env.MCPLUG_TEST_NPM}/`);
const sdk = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { z } = require('zod');
const { McpServer, completable, inputRequired, inputResponse } = sdk;

const states = sdk.createRequestStateCodec({ key: 'any 32 bytes will do for this test' });
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const answer = (ctx, key) => inputResponse(ctx.mcpReq.inputResponses, key);

// Over HTTP each request has a server of its own: what they share is here, and changes
// are told to those who listen by the handler.
const shared = { cancelled: [], extras: 0, note: 'nothing yet', notify: undefined };

const nameForm = {
    message: 'Who are you?',
    requestedSchema: {
        type: 'object',
        properties: { name: { type: 'string' } },
        required: ['name'],
    },
};
const poemRequest = {
    messages: [{ role: 'user', content: { type: 'text', text: 'A line of a poem' } }],
    maxTokens: 20,
};

// ---- questions: one, and then several in each of two rounds ----

function addQuestions(server) {
    server.registerTool('greet', { description: 'Asks for a name' }, (ctx) => {
        const who = answer(ctx, 'who');
        if (who.kind === 'missing')
            return inputRequired({ inputRequests: { who: inputRequired.elicit(nameForm) } });
        return text(who.action === 'accept' ? `hello ${who.content.name}` : who.action);
    });

    server.registerTool(
        'consult',
        { description: 'Two rounds, state in between', inputSchema: z.object({ word: z.string() }) },
        async ({ word }, ctx) => {
            const state = ctx.mcpReq.requestState();
            if (!state)
                return inputRequired({
                    inputRequests: {
                        poem: inputRequired.createMessage(poemRequest),
                        'the "roots"': inputRequired.listRoots(),
                    },
                    requestState: await states.mint({ word, round: 1 }, ctx),
                });
            if (state.round === 1)
                return inputRequired({
                    inputRequests: { who: inputRequired.elicit(nameForm) },
                    requestState: await states.mint(
                        {
                            ...state,
                            round: 2,
                            poem: answer(ctx, 'poem').result.content.text,
                            roots: answer(ctx, 'the "roots"').roots.map((root) => root.uri),
                        },
                        ctx,
                    ),
                });
            return text(JSON.stringify({ ...state, who: answer(ctx, 'who').content?.name }));
        },
    );

    server.registerTool('visit', { description: 'Asks to open a link' }, (ctx) => {
        const seen = answer(ctx, 'page');
        if (seen.kind !== 'missing')
            return text(`visit: ${seen.action}`);
        const page = { message: 'Open this', url: 'https://example.com/form' };
        return inputRequired({ inputRequests: { page: inputRequired.elicitUrl(page) } });
    });

    server.registerTool('insist', { description: 'Never content' }, () =>
        inputRequired({ inputRequests: { who: inputRequired.elicit(nameForm) } }));
}

// ---- time: progress, cancellation ----

function addSlowTools(server) {
    server.registerTool(
        'slow',
        {
            description: 'Takes its time, in steps',
            inputSchema: z.object({ ms: z.number(), steps: z.number(), name: z.string() }),
        },
        async ({ ms, steps, name }, ctx) => {
            const { _meta, signal, notify } = ctx.mcpReq;
            const progressToken = _meta?.progressToken;
            signal.addEventListener('abort', () => {
                shared.cancelled.push(name);
                console.error(`cancelled ${name}`);
            });
            for (let progress = 1; progress <= steps; progress++) {
                await sleep(ms / steps, undefined, { signal });
                if (progressToken !== undefined)
                    await notify({
                        method: 'notifications/progress',
                        params: { progressToken, progress, total: steps, message: `step ${progress}` },
                    });
            }
            return text(`${name} is done`);
        },
    );

    server.registerTool('cancelled', { description: 'Which slow calls were cancelled' }, () =>
        text(shared.cancelled.join(' ')));
}

// ---- changes ----

function addExtra(server, name) {
    server.registerTool(name, { description: 'One more' }, () => text(name));
}

async function tellUpdated(server, uri) {
    if (shared.notify)
        shared.notify.resourceUpdated(uri);
    else
        await server.server.sendResourceUpdated({ uri });
}

function addChanges(server) {
    for (let i = 1; i <= shared.extras; i++)
        addExtra(server, `extra-${i}`);

    server.registerTool('grow', { description: 'Adds a tool' }, () => {
        const name = `extra-${++shared.extras}`;
        if (shared.notify)
            shared.notify.toolsChanged();
        else
            addExtra(server, name);
        return text(name);
    });

    server.registerTool(
        'write',
        { description: 'Changes note://today', inputSchema: z.object({ note: z.string() }) },
        async (args) => {
            shared.note = args.note;
            await tellUpdated(server, 'note://today');
            await tellUpdated(server, 'note://tomorrow');
            return text('written');
        },
    );

    server.registerResource('today', 'note://today', { mimeType: 'text/plain' }, (uri) => ({
        contents: [{ uri: uri.href, text: shared.note }],
    }));
    server.registerResource('tomorrow', 'note://tomorrow', {}, (uri) => ({
        contents: [{ uri: uri.href, text: 'who knows' }],
    }));
}

// ---- arguments that are sent as headers too: the SDK compares them ----

const routed = {
    type: 'object',
    properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        level: { type: 'integer', 'x-mcp-header': 'Level' },
        where: {
            type: 'object',
            properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry' } },
        },
        secret: { type: 'string' },
    },
    required: ['region'],
};

function addRouted(server) {
    server.registerTool(
        'route',
        { description: 'The headers it was sent', inputSchema: sdk.fromJsonSchema(routed) },
        (args, ctx) => {
            const headers = [...(ctx.http?.req?.headers ?? [])];
            return text(JSON.stringify(Object.fromEntries(
                headers.filter(([name]) => name.startsWith('mcp-')))));
        },
    );
}

// ---- the rest ----

function addRest(server) {
    server.registerTool(
        'add',
        {
            description: 'Adds two numbers',
            inputSchema: z.object({ a: z.number(), b: z.number() }),
            outputSchema: z.object({ sum: z.number() }),
        },
        ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
    );

    server.registerTool('fail', { description: 'Fails' }, () => ({
        ...text('this always fails'),
        isError: true,
    }));

    server.registerTool('chat', { description: 'Logs at three levels' }, async (ctx) => {
        for (const level of ['debug', 'warning', 'error'])
            await ctx.mcpReq.log(level, `this is ${level}`, 'chat');
        return text('logged');
    });

    server.registerTool('meta', { description: 'The _meta it was sent' }, (ctx) =>
        text(JSON.stringify({ ...ctx.mcpReq._meta, envelope: ctx.mcpReq.envelope })));

    const animals = ['ant', 'bee', 'bear'];
    server.registerPrompt(
        'ode',
        {
            description: 'An ode to an animal',
            argsSchema: z.object({
                animal: completable(z.string(), (begin) =>
                    animals.filter((animal) => animal.startsWith(begin))),
            }),
        },
        ({ animal }) => ({
            messages: [{ role: 'user', content: { type: 'text', text: `Praise the ${animal}` } }],
        }),
    );
}

function create() {
    const server = new McpServer(
        { name: 'modern', title: 'A modern server', version: '1.2.3' },
        {
            instructions: 'Greet first.',
            capabilities: {
                tools: { listChanged: true },
                resources: { listChanged: true, subscribe: true },
                logging: {},
            },
            // Long enough that only a notification makes a kept list stale.
            cacheHints: { 'tools/list': { ttlMs: 3600000, cacheScope: 'private' } },
            requestState: { verify: states.verify },
        },
    );
    for (const add of [addQuestions, addSlowTools, addChanges, addRouted, addRest])
        add(server);
    return server;
}

// Says when a subscription begins: what changes from then on is told.
class Bus extends sdk.InMemoryServerEventBus {
    subscribe(listener) {
        const end = super.subscribe(listener);
        console.error('somebody listens');
        return end;
    }
}

function serveHttp(port) {
    const { toNodeHandler } = require('@modelcontextprotocol/node');
    const handler = sdk.createMcpHandler(create, {
        bus: new Bus(),
        legacy: both ? 'stateless' : 'reject',
        onerror: (error) => console.error(error.message),
    });
    shared.notify = handler.notify;
    http.createServer(toNodeHandler(handler)).listen(port, '127.0.0.1');
}

const option = (name) =>
    process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const both = process.argv.includes('--both');
if (option('late'))
    await sleep(Number(option('late')));
if (option('http'))
    serveHttp(Number(option('http')));
else
    serveStdio(create, {
        legacy: both ? 'serve' : 'reject',
        onerror: (error) => console.error(error),
    });
