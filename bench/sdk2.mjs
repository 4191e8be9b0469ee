// sdk2.mjs - the benchmark with @modelcontextprotocol/client 2.x over stdio or HTTP.
//
//   MCPLUG_NODE_MODULES=DIR node sdk2.mjs [--era legacy|modern] [--oneshot]
//       SERVER [ARG]... | --url URL
import { load, options, run } from './measure.mjs';

const SDK = '@modelcontextprotocol/client/dist';
const TIMEOUT = { timeout: 600000 };

const { Client, StreamableHTTPClientTransport } = await load(SDK, 'index.mjs');

const { mode, rest } = options(process.argv.slice(2));
const era = mode.era ?? 'modern';
// Pinned, so that no time goes into finding out: "auto" starts the server twice.
const negotiation = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';

async function transportTo({ command, args, url }, given) {
    if (url) return new StreamableHTTPClientTransport(new URL(url));
    const { StdioClientTransport } = await load(SDK, 'stdio.mjs');
    return new StdioClientTransport({ command, args, ...given });
}

async function connect(server, given) {
    const client = new Client(
        { name: 'bench', version: '1' },
        { versionNegotiation: { mode: negotiation } },
    );
    await client.connect(await transportTo(server, given));
    return {
        call: (name, args) => client.callTool({ name, arguments: args }, TIMEOUT),
        list: async () => (await client.listTools({}, TIMEOUT)).tools.length,
        close: () => client.close(),
    };
}

await run(`sdk2 ${era}`, connect, ['--era', era], rest, mode);
