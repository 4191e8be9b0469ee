// sdk1.mjs - the benchmark with @modelcontextprotocol/sdk 1.x over stdio.
//
//   MCPLUG_NODE_MODULES=DIR node sdk1.mjs [--oneshot] SERVER [ARG]...
import { load, options, run } from './measure.mjs';

const SDK = '@modelcontextprotocol/sdk/dist/esm/client';
const TIMEOUT = { timeout: 600000 };

const { Client } = await load(SDK, 'index.js');
const { StdioClientTransport } = await load(SDK, 'stdio.js');

async function connect(command, args, transport) {
    const client = new Client({ name: 'bench', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, ...transport }));
    return {
        call: (name, given) => client.callTool({ name, arguments: given }, undefined, TIMEOUT),
        list: async () => (await client.listTools({}, TIMEOUT)).tools.length,
        close: () => client.close(),
    };
}

const { mode, rest } = options(process.argv.slice(2));
await run('sdk1', connect, [], rest, mode);
