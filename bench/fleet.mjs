// fleet.mjs - what bench/fleet.c measures, with @modelcontextprotocol/sdk 1.x.
//
//   MCPLUG_NODE_MODULES=DIR node fleet.mjs [--batch N] [--keep] CONFIG
//
// A Client and a StdioClientTransport for each server of CONFIG, N of them on their way at
// a time: the next one starts as soon as one is done. What servers write on standard
// error is thrown away. ready_ms counts from the start of the process, Node's own and
// that of the SDK included.
import { readFileSync } from 'node:fs';
import { load } from './measure.mjs';

const SDK = '@modelcontextprotocol/sdk/dist/esm/client';
const TIMEOUT = { timeout: 120000 }; // twice its own, for busy machines

const { Client } = await load(SDK, 'index.js');
const { StdioClientTransport } = await load(SDK, 'stdio.js');

function figure(file, key) {
    return Number(readFileSync(`/proc/self/${file}`, 'utf8').match(`${key}:\\s+(\\d+)`)[1]);
}

function options(argv) {
    const given = { batch: 3, keep: false, config: null };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--batch') given.batch = Number(argv[++i]);
        else if (argv[i] === '--keep') given.keep = true;
        else given.config = argv[i];
    }
    if (!given.config || !(given.batch > 0)) {
        console.error('usage: fleet.mjs [--batch N] [--keep] CONFIG');
        process.exit(2);
    }
    return given;
}

async function connect({ command, args, env, cwd }) {
    const client = new Client({ name: 'bench', version: '1' });
    const server = { command, args, env, cwd, stderr: 'ignore' };
    await client.connect(new StdioClientTransport(server), TIMEOUT);
    return client;
}

async function listTools(client) {
    const tools = [];
    let cursor;
    do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor }, TIMEOUT);
        tools.push(...page.tools);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
}

async function startAll(servers, batch) {
    const fleet = [];
    const left = Object.entries(servers);
    let failed = 0;
    const worker = async () => {
        for (let next = left.shift(); next; next = left.shift()) {
            try {
                const client = await connect(next[1]);
                fleet.push({ client, tools: await listTools(client) });
            } catch (error) {
                failed++;
                console.error(`fleet.mjs: ${next[0]}: ${error.message}`);
            }
        }
    };
    await Promise.all(Array.from({ length: batch }, worker));
    return { fleet, failed };
}

function stay() {
    process.stderr.write('ready\n');
    return new Promise((resolve) => process.stdin.on('close', resolve).resume());
}

function children() {
    const file = `/proc/self/task/${process.pid}/children`;
    return readFileSync(file, 'utf8').split(' ').filter(Boolean).length;
}

const given = options(process.argv.slice(2));
const servers = JSON.parse(readFileSync(given.config, 'utf8')).mcpServers;
const { fleet, failed } = await startAll(servers, given.batch);
const ready = performance.now();
const cpu = process.cpuUsage();
const figures = {
    servers: Object.keys(servers).length,
    failed,
    tools: fleet.reduce((sum, { tools }) => sum + tools.length, 0),
    ready_ms: Math.round(ready),
    cpu_ms: Math.round((cpu.user + cpu.system) / 1000),
    rss_kb: figure('status', 'VmRSS'),
    pss_kb: figure('smaps_rollup', '\nPss'),
    peak_kb: figure('status', 'VmHWM'),
    helpers: 0,
    helpers_kb: 0,
};
if (given.keep) await stay();
const begun = performance.now();
await Promise.all(fleet.map(({ client }) => client.close()));
figures.close_ms = Math.round(performance.now() - begun);
figures.left = children();
console.log(
    Object.entries(figures)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
);
process.exitCode = failed || figures.left ? 1 : 0;
