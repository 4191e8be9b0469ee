// sdk1.mjs - the benchmark with @modelcontextprotocol/sdk 1.x over stdio, HTTP or a
// WebSocket.
//
//   MCPLUG_NODE_MODULES=DIR node sdk1.mjs [--oneshot] SERVER [ARG]... | --url URL
import { load, options, run } from './measure.mjs';

const SDK = '@modelcontextprotocol/sdk/dist/esm/client';
const TIMEOUT = { timeout: 600000 };

const { Client } = await load(SDK, 'index.js');

// Only what is used is loaded: a single call is timed too.
async function transportTo({ command, args, url }, given) {
    if (!url) {
        const { StdioClientTransport } = await load(SDK, 'stdio.js');
        return new StdioClientTransport({ command, args, ...given });
    }
    if (url.startsWith('ws')) {
        const { WebSocketClientTransport } = await load(SDK, 'websocket.js');
        return new WebSocketClientTransport(new URL(url));
    }
    const { StreamableHTTPClientTransport } = await load(SDK, 'streamableHttp.js');
    return new StreamableHTTPClientTransport(new URL(url));
}

async function connect(server, given) {
    const client = new Client({ name: 'bench', version: '1' });
    await client.connect(await transportTo(server, given));
    return {
        call: (name, args) => client.callTool({ name, arguments: args }, undefined, TIMEOUT),
        list: async () => (await client.listTools({}, TIMEOUT)).tools.length,
        close: () => client.close(),
    };
}

const { mode, rest } = options(process.argv.slice(2));
await run('sdk1', connect, [], rest, mode);
