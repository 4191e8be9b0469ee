// measure.mjs - what bench/floor.c and floor-net.c measure, for clients written in
// JavaScript.
//
// A client is a function connect(server, options) that resolves to
// { call(tool, args), list(), close() }; the server is { command, args } or { url }.
// The results of runs with big messages and long lists come from fresh processes: the
// script is started again with --big or --list, and prints that one figure.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const CALLS = 20000;
const WARM_UP = 2000;
const FLIGHT = 64;
// Over the network a call takes several times as long.
const CALLS_NET = 3000;
const WARM_UP_NET = 1000;
const TEXT = 'The quick brown fox jumps over the lazy dog';

// The SDKs read at most 10 MiB without a line end unless told otherwise
// (maxBufferSize of their stdio transport). 10 million bytes pass by default;
// for 50 the limit has to be raised.
const DEFAULT_LIMIT = 10 * 1024 * 1024;
const RAISED_LIMIT = 256 * 1024 * 1024;

// Imports a package's module from $MCPLUG_NODE_MODULES, wherever this file is.
export function load(name, file) {
    const root = process.env.MCPLUG_NODE_MODULES;
    if (!root) {
        console.error('MCPLUG_NODE_MODULES must name a node_modules directory');
        process.exit(2);
    }
    return import(pathToFileURL(join(root, name, file)).href);
}

function statusKb(key) {
    const line = readFileSync('/proc/self/status', 'utf8').match(`${key}:\\s+(\\d+)`);
    return Number(line[1]);
}

const round = (value) => Math.round(value * 100) / 100;

function expect(result) {
    if (result.content[0].text !== TEXT) throw new Error('the echo differs');
}

async function sequential(client, warmUp, calls) {
    for (let i = 0; i < warmUp; i++) expect(await client.call('echo', { text: TEXT }));
    const took = new Float64Array(calls);
    const cpu = process.cpuUsage();
    for (let i = 0; i < calls; i++) {
        const begun = performance.now();
        expect(await client.call('echo', { text: TEXT }));
        took[i] = performance.now() - begun;
    }
    const used = process.cpuUsage(cpu);
    took.sort();
    return {
        p50_us: round(took[calls / 2] * 1000),
        p99_us: round(took[(calls * 99) / 100] * 1000),
        cpu_us_per_call: round((used.user + used.system) / calls),
    };
}

async function inFlight(client, calls) {
    let left = calls;
    const worker = async () => {
        while (left-- > 0) expect(await client.call('echo', { text: TEXT }));
    };
    const begun = performance.now();
    await Promise.all(Array.from({ length: FLIGHT }, worker));
    return Math.round(calls / ((performance.now() - begun) / 1000));
}

async function big(connect, bytes, server) {
    const wire = bytes + bytes / 80 + 1024;
    const options = wire > DEFAULT_LIMIT ? { maxBufferSize: RAISED_LIMIT } : {};
    const client = await connect(server, options);
    const begun = performance.now();
    const result = await client.call('big', { bytes });
    const ms = performance.now() - begun;
    if (result.content[0].text.length !== bytes) throw new Error('the text is cut');
    await client.close();
    return { ms: round(ms), peak_kb: statusKb('VmHWM') };
}

async function list(connect, tools, { command, args }) {
    const longer = [...args, '--tools', String(tools)];
    const client = await connect({ command, args: longer }, {});
    const begun = performance.now();
    const count = await client.list();
    const ms = performance.now() - begun;
    if (count !== tools + 1) throw new Error(`${count} tools instead of ${tools + 1}`);
    await client.close();
    return { ms: round(ms) };
}

// Runs this same script again for one figure.
function again(own, ...mode) {
    const argv = [process.argv[1], ...mode, ...own];
    return JSON.parse(execFileSync(process.execPath, argv, { encoding: 'utf8' }));
}

async function all(name, connect, own, server, without50) {
    const client = await connect(server, {});
    const seq = await sequential(client, WARM_UP, CALLS);
    const inflight64_per_s = await inFlight(client, CALLS);
    const rss_kb = Math.round(process.memoryUsage().rss / 1024);
    await client.close();
    const big10 = again(own, '--big', '10000000');
    const big50 = without50 ? {} : again(own, '--big', '50000000');
    const [list1000, list10000] = [1000, 10000].map((n) => again(own, '--list', `${n}`));
    return {
        name,
        ...seq,
        inflight64_per_s,
        rss_kb,
        big10_ms: big10.ms,
        big10_peak_kb: big10.peak_kb,
        big50_ms: big50.ms,
        big50_peak_kb: big50.peak_kb,
        list1000_ms: list1000.ms,
        list10000_ms: list10000.ms,
    };
}

// See round_trips() of client.h.
async function roundTrips(connect, server) {
    let said;
    for (let i = 0; i < 2; i++) {
        const client = await connect(server, {});
        said = (await client.call('stats', {})).content[0].text;
        await client.close();
    }
    const n = Object.fromEntries(said.split(' ').map((pair) => pair.split('=')));
    const waits = server.url.startsWith('http') ? n.notifications : n.upgrades;
    return Number(n.requests) + Number(waits);
}

async function allNet(name, connect, server) {
    const client = await connect(server, {});
    const seq = await sequential(client, WARM_UP_NET, CALLS_NET);
    const inflight64_per_s = await inFlight(client, CALLS_NET);
    const peak_kb = statusKb('VmHWM');
    await client.close();
    const connect_rtt = await roundTrips(connect, server);
    return { name, ...seq, inflight64_per_s, peak_kb, connect_rtt };
}

// argv: [--oneshot | --big BYTES | --list N | --no-big50] [own options]... SERVER [ARG]...
//       [own options]... --url URL
// `own` are the script's own options, already read, to be given on.
export async function run(name, connect, own, [command, ...args], mode) {
    if (!command && !mode.url) {
        console.error(`usage: ${process.argv[1]} [--oneshot] SERVER [ARG]... | --url URL`);
        process.exit(2);
    }
    const server = mode.url ? { url: mode.url } : { command, args };
    if (mode.oneshot) {
        const client = await connect(server, {});
        const result = await client.call('echo', { text: TEXT });
        console.log(result.content[0].text);
        await client.close();
        return;
    }
    let figures;
    if (mode.url) figures = await allNet(name, connect, server);
    else if (mode.big) figures = await big(connect, mode.big, server);
    else if (mode.list) figures = await list(connect, mode.list, server);
    else figures = await all(name, connect, [...own, command, ...args], server, mode.without50);
    console.log(JSON.stringify(figures));
}

// Splits the command line; `era` is kept for scripts that know it.
export function options(argv) {
    const mode = {};
    let i = 0;
    for (; i < argv.length && argv[i].startsWith('--'); i++) {
        if (argv[i] === '--oneshot') mode.oneshot = true;
        else if (argv[i] === '--no-big50') mode.without50 = true;
        else if (argv[i] === '--big') mode.big = Number(argv[++i]);
        else if (argv[i] === '--list') mode.list = Number(argv[++i]);
        else if (argv[i] === '--era') mode.era = argv[++i];
        else if (argv[i] === '--url') mode.url = argv[++i];
        else {
            console.error(`unknown option ${argv[i]}`);
            process.exit(2);
        }
    }
    return { mode, rest: argv.slice(i) };
}
