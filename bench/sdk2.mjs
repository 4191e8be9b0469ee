// sdk2.mjs - the benchmark with @modelcontextprotocol/client 2.x over stdio.
//
//   MCPLUG_NODE_MODULES=DIR node sdk2.mjs [--era legacy|modern] [--oneshot] SERVER [ARG]...
import { load, options, run } from './measure.mjs';

const SDK = '@modelcontextprotocol/client/dist';
const TIMEOUT = { timeout: 600000 };

const { Client } = await load(SDK, 'index.mjs');
const { StdioClientTransport } = await load(SDK, 'stdio.mjs');

const { mode, rest } = options(process.argv.slice(2));
const era = mode.era ?? 'modern';
// Pinned, so that no time goes into finding out: "auto" starts the server twice.
const negotiation = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';

async function connect(command, args, transport) {
    const client = new Client(
        { name: 'bench', version: '1' },
        { versionNegotiation: { mode: negotiation } },
    );
    await client.connect(new StdioClientTransport({ command, args, ...transport }));
    return {
        call: (name, given) => client.callTool({ name, arguments: given }, TIMEOUT),
        list: async () => (await client.listTools({}, TIMEOUT)).tools.length,
        close: () => client.close(),
    };
}

await run(`sdk2 ${era}`, connect, ['--era', era], rest, mode);
