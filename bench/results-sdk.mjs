// results-sdk.mjs - what mcplug-results.c measures, with @modelcontextprotocol/sdk 1.x: a
// call, and the content as one string, which is what hosts make of it before they count,
// cut or save it. It writes no file and looks at nothing.
//
//   MCPLUG_NODE_MODULES=DIR node results-sdk.mjs TOOL BYTES SERVER [ARG]...
import { readFileSync } from 'node:fs';
import { load } from './measure.mjs';

const SDK = '@modelcontextprotocol/sdk/dist/esm/client';
const { Client } = await load(SDK, 'index.js');
const { StdioClientTransport } = await load(SDK, 'stdio.js');

const [tool, bytes, command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'bench', version: '1' });
// Without the limit being raised more than 10 MiB are refused.
await client.connect(new StdioClientTransport({ command, args, maxBufferSize: 1 << 30 }));
const cpu = process.cpuUsage();
const begun = performance.now();
const call = { name: tool, arguments: { bytes: Number(bytes) } };
const result = await client.callTool(call, undefined, { timeout: 600000 });
const text = JSON.stringify(result.content);
const ms = performance.now() - begun;
const used = process.cpuUsage(cpu);
if (text.length < Number(bytes)) throw new Error('the result is cut');
const peak = readFileSync('/proc/self/status', 'utf8').match(/VmHWM:\s+(\d+)/)[1];
await client.close();
const round = (value) => Math.round(value * 100) / 100;
const cpu_ms = round((used.user + used.system) / 1000);
console.log(JSON.stringify({ ms: round(ms), cpu_ms, peak_kb: Number(peak) }));
