// run.mjs DIR CLIENT [ARGS..] - runs CLIENT through the client scenarios of the suites
// that are installed in DIR, and prints a table. Called by `run`.
//
// Stricter than the suites: warnings count, and a scenario in which no check passed has
// failed. Every scenario of a suite must be run, or be in expected-failures.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [dir, ...command] = process.argv.slice(2);
const self = fileURLToPath(import.meta.url);
const CLIENT_MS = 25_000; // what a client has
const SUITE_MS = 30_000; // after which a suite would give up on it
const HANG_MS = 60_000; // what a suite has

const OLD = '2025-11-25';
const MODERN = '2026-07-28';
const EXTENSION = 'extension'; // what a suite has instead of a revision

const plan = [
    ['0.2', OLD, 'initialize'],
    ['0.2', OLD, 'tools_call'],
    ['0.2', OLD, 'elicitation-sep1034-client-defaults'],
    ['0.2', OLD, 'sse-retry'],
    ['0.2', OLD, 'json-schema-2020-12-preservation'],
    ['0.2', MODERN, 'tools_call'],
    ['0.2', MODERN, 'request-metadata'],
    ['0.2', MODERN, 'sep-2322-client-request-state'],
    ['0.2', MODERN, 'http-standard-headers'],
    ['0.2', MODERN, 'http-custom-headers'],
    ['0.2', MODERN, 'http-invalid-tool-headers'],
    ['0.2', MODERN, 'json-schema-ref-no-deref'],
    ['0.2', MODERN, 'json-schema-2020-12-preservation'],
    ['0.2', EXTENSION, 'sep-2640-client-no-prefetch'],
    ['0.2', EXTENSION, 'sep-2640-client-verify-digest'],
    ['0.2', EXTENSION, 'sep-2640-client-verify-frontmatter'],
    ['0.2', EXTENSION, 'sep-2640-client-verify-size'],
    ['0.1', OLD, 'initialize'],
    ['0.1', OLD, 'tools_call'],
    ['0.1', OLD, 'elicitation-sep1034-client-defaults'],
    ['0.1', OLD, 'sse-retry'],
].map(([suite, revision, scenario]) => ({ suite, revision, scenario }));

// Measures a delay to 200 ms: nothing else runs meanwhile.
const alone = (run) => run.scenario === 'sse-retry';

// Run with a client that does nothing. The suites let it pass these; if we do so as well,
// our verdicts are worth nothing.
const easy = ['initialize', 'http-standard-headers', 'sep-2640-client-no-prefetch'];
const controls = plan.filter((run) => easy.includes(run.scenario));

// ---- the client, as a suite starts it ----

// Starts the client and leaves word of its end: to a suite, death by a signal looks like
// success, and a client that it gave up on goes on.
function startClient() {
    const [program, ...args] = JSON.parse(process.env.CONFORMANCE_COMMAND);
    const end = { status: null, signal: null, late: false, error: null };
    const leave = (status) => {
        writeFileSync(process.env.CONFORMANCE_END, JSON.stringify(end));
        process.exit(status);
    };
    const child = spawn(program, [...args, process.argv.at(-1)], { stdio: 'inherit' });
    setTimeout(() => {
        end.late = true;
        child.kill('SIGKILL');
    }, CLIENT_MS);
    child.on('error', (error) => {
        end.error = error.message;
        leave(127);
    });
    child.on('exit', (status, signal) => {
        Object.assign(end, { status, signal });
        leave(status ?? 128);
    });
}

// ---- one scenario ----

const scriptOf = (suite) => join(dir, `node_modules/conformance-${suite}/dist/index.js`);
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

// Suites lead process groups, to be ended with their clients; also when we are.
const running = new Set();

function endAll() {
    running.forEach((pid) => process.kill(-pid, 'SIGKILL'));
    process.exit(1);
}

// Resolves to the exit status of the suite, or null when it had to be ended.
function runSuite(run, client, out) {
    const args = [
        ...[scriptOf(run.suite), 'client', '--scenario', run.scenario],
        ...(run.revision === EXTENSION ? [] : ['--spec-version', run.revision]),
        ...['--timeout', SUITE_MS, '--output-dir', out],
        ...['--command', `${quoted(process.execPath)} ${quoted(self)} --start`],
    ];
    const env = {
        ...process.env,
        CONFORMANCE_COMMAND: JSON.stringify(client),
        CONFORMANCE_END: join(out, 'end.json'),
        NODE_NO_WARNINGS: '1',
    };
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(process.execPath, args, { env, stdio, detached: true });
    let log = '';
    running.add(child.pid);
    child.stdout.on('data', (data) => (log += data));
    child.stderr.on('data', (data) => (log += data));
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), HANG_MS);
    return new Promise((resolve) => {
        child.on('close', (status) => {
            clearTimeout(timer);
            running.delete(child.pid);
            writeFileSync(join(out, 'suite.log'), log);
            resolve(status);
        });
    });
}

function clientFaults(end) {
    if (!end) return ['the client was not started'];
    if (end.error) return [`the client could not be started: ${end.error}`];
    if (end.late) return [`the client took longer than ${CLIENT_MS / 1000} s`];
    if (end.signal) return [`the client was ended by ${end.signal}`];
    return [];
}

// Why a run has failed, a line for each reason; none: it passed. The suite knows where a
// client may end as it likes, and fails otherwise.
function findFaults(status, checks, end) {
    const why = clientFaults(end);
    for (const { status, id, errorMessage, description } of checks)
        if (status === 'FAILURE' || status === 'WARNING')
            why.push(`${status} ${id}: ${errorMessage ?? description}`);
    if (!checks.some((check) => check.status === 'SUCCESS')) why.push('no check passed');
    if (status === null) why.push('the suite did not end');
    else if (status !== 0 && end?.status) why.push(`the client's status is ${end.status}`);
    else if (status !== 0 && why.length === 0) why.push(`the suite's status is ${status}`);
    return why;
}

function readText(...path) {
    try {
        return readFileSync(join(...path), 'utf8');
    } catch {
        return '';
    }
}

async function runOne(run, client, base) {
    const out = join(base, run.suite, run.revision, run.scenario);
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out, { recursive: true });
    const status = await runSuite(run, client, out);

    // The suite makes a folder with the time in its name.
    const made = readdirSync(out).find((name) => name.startsWith(`${run.scenario}-`)) ?? '';
    const checks = JSON.parse(readText(out, made, 'checks.json') || '[]');
    const end = JSON.parse(readText(out, 'end.json') || 'null');
    const count = (...states) => checks.filter((check) => states.includes(check.status)).length;
    const why = findFaults(status, checks, end);
    return {
        ...run,
        why,
        said: readText(out, made, 'stderr.txt'),
        score: `${count('SUCCESS')}/${count('SUCCESS', 'FAILURE', 'WARNING')}`,
        verdict: why.length === 0 ? 'passed' : 'FAILED',
    };
}

// Two at a time, those that want to be alone at the end; the results in the given order.
async function runAll(runs, client, base) {
    const results = new Map();
    const work = async (queue) => {
        for (let run = queue.shift(); run; run = queue.shift())
            results.set(run, await runOne(run, client, base));
    };
    const queue = runs.filter((run) => !alone(run));
    await Promise.all([work(queue), work(queue)]);
    await work(runs.filter(alone));
    return runs.map((run) => results.get(run));
}

// ---- nothing is forgotten ----

// What a suite has: [{ suite, scenario, revisions }].
function listSuite(suite) {
    const args = [scriptOf(suite), 'list', '--client'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    const lines = [...stdout.matchAll(/^\s*- (\S+) \[(.*)\]$/gm)];
    if (status !== 0 || lines.length === 0)
        throw new Error(`suite ${suite} does not list its scenarios: ${stderr}`);
    return lines.map((line) => ({ suite, scenario: line[1], revisions: line[2].split(',') }));
}

// What is not run: a map from scenario to the heading that it stands under.
function readExpected() {
    const expected = new Map();
    let heading = '';
    for (const line of readText(self, '..', 'expected-failures').split('\n'))
        if (line.endsWith(':')) heading = line.slice(0, -1);
        else if (line !== '' && !line.startsWith('#')) expected.set(line, heading);
    return expected;
}

// Lines for what is neither run nor expected, or both, or gone.
function findForgotten(listed, expected) {
    const lines = [];
    for (const { suite, scenario, revisions } of listed) {
        const runs = plan.filter((run) => run.suite === suite && run.scenario === scenario);
        const wanted = revisions.filter((revision) => [OLD, MODERN].includes(revision));
        const missed = (wanted.length > 0 ? wanted : revisions).filter(
            (revision) => !runs.some((run) => run.revision === revision),
        );
        if (expected.has(scenario) && runs.length > 0)
            lines.push(`${scenario} of suite ${suite} is run and in expected-failures`);
        if (!expected.has(scenario) && missed.length > 0)
            lines.push(`${scenario} of suite ${suite} is not run [${missed}]`);
    }
    for (const scenario of expected.keys())
        if (!listed.some((entry) => entry.scenario === scenario))
            lines.push(`${scenario} of expected-failures is in no suite`);
    return lines;
}

function expectedRows(listed, expected) {
    return listed
        .filter((entry) => expected.has(entry.scenario))
        .map(({ suite, scenario, revisions }) => ({
            suite,
            revision: revisions.slice(-2).join(),
            scenario,
            score: '-',
            verdict: expected.get(scenario),
        }));
}

// ---- all of it ----

function printTable(rows) {
    const columns = ['suite', 'revision', 'scenario', 'score', 'verdict'];
    const head = { score: 'checks' };
    const lines = [
        columns.map((column) => head[column] ?? column),
        ...rows.map((row) => columns.map((column) => row[column])),
    ];
    const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i].length)));
    for (const line of lines)
        console.log(line.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd());
}

function printFaults({ suite, revision, scenario, why, said }) {
    console.log(`\nFAIL: ${suite} ${revision} ${scenario}`);
    why.forEach((line) => console.log(`  ${line}`));
    if (said !== '')
        said.trimEnd().split('\n').slice(-10).forEach((line) => console.log(`  | ${line}`));
}

async function main() {
    const only = process.env.ONLY?.split(' ');
    const runs = plan.filter((run) => !only || only.includes(run.scenario));
    const listed = ['0.2', '0.1'].flatMap(listSuite);
    const expected = readExpected();

    process.on('SIGINT', endAll);
    process.on('SIGTERM', endAll);
    const wrong = findForgotten(listed, expected);
    for (const row of await runAll(controls, ['true'], join(dir, 'controls')))
        if (row.why.length === 0)
            wrong.push(`a client that does nothing passes ${row.scenario} of ${row.suite}`);
    const done = await runAll(runs, command, join(dir, 'results'));

    printTable([...done, ...expectedRows(listed, expected)]);
    const failed = done.filter((row) => row.why.length > 0);
    failed.forEach(printFaults);
    wrong.forEach((line) => console.log(`FAIL: ${line}`));
    console.log(`${done.length - failed.length} passed, ${failed.length + wrong.length} failed`);
    process.exitCode = failed.length + wrong.length > 0 || done.length === 0 ? 1 : 0;
}

if (dir === '--start') startClient();
else await main();
