// fake-ide-selftest.mjs - does fake-ide.mjs do what it says? One line per case, and then
// `N passed, N failed`.
//
//   MCPLUG_TEST_NPM=DIR node fake-ide-selftest.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const require = createRequire(`${process.env.MCPLUG_TEST_NPM}/`);
const WebSocket = require('ws');
const script = fileURLToPath(new URL('fake-ide.mjs', import.meta.url));
const top = fs.mkdtempSync(path.join(os.tmpdir(), 'fake-ide-'));
const header = 'X-Claude-Code-Ide-Authorization';

// ---- the editor, and two kinds of clients ----

// A queue that can be waited on.
class Mail {
    #items = [];
    #waiting = [];
    put(item) {
        const taker = this.#waiting.shift();
        if (taker)
            taker(item);
        else
            this.#items.push(item);
    }
    take(ms = 5000) {
        if (this.#items.length)
            return Promise.resolve(this.#items.shift());
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`nothing came in ${ms} ms`)), ms);
            this.#waiting.push((item) => {
                clearTimeout(timer);
                resolve(item);
            });
        });
    }
    async until(wanted) {
        for (;;) {
            const item = await this.take();
            if (typeof wanted === 'function' ? wanted(item) : item === wanted)
                return item;
        }
    }
}

async function startIde(dialect, ...more) {
    const child = spawn(process.execPath, [script, '--dialect', dialect, '--dir', top, '--workspace', top, ...more], {
        stdio: ['pipe', 'pipe', 'inherit'],
    });
    const said = new Mail();
    readline.createInterface({ input: child.stdout }).on('line', (line) => said.put(line));
    const gone = new Promise((resolve) => child.on('exit', resolve));
    const port = Number(await said.take());
    const file = path.join(top, 'ide', `${port}.lock`);
    return {
        port,
        file,
        said,
        lock: JSON.parse(fs.readFileSync(file, 'utf8')),
        pid: child.pid,
        act: (line) => child.stdin.write(`${line}\n`),
        end: () => {
            child.stdin.end();
            return gone;
        },
    };
}

class Client {
    inbox = new Mail();
    #id = 0;
    constructor(send) {
        this.send = (message) => send(JSON.stringify({ jsonrpc: '2.0', ...message }));
    }
    async request(method, params) {
        const id = ++this.#id;
        this.send({ id, method, params });
        return (await this.inbox.until((m) => m.id === id && !m.method));
    }
    async call(name, args = {}) {
        return (await this.request('tools/call', { name, arguments: args })).result;
    }
    async begin(revision) {
        const { result } = await this.request('initialize', {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name: 'selftest', version: '0' },
        });
        assert.equal(result.protocolVersion, revision);
        this.send({ method: 'notifications/initialized' });
        this.send({ method: 'ide_connected', params: { pid: 42 } });
        return (await this.request('tools/list')).result.tools.map((tool) => tool.name);
    }
}

// Resolves to { client, ws }, { status } or { code } when refused at once.
function connectWs(ide, { token = ide.lock.authToken, where = '/mcp', protocol = 'mcp', silent = false } = {}) {
    return new Promise((resolve) => {
        const ws = new WebSocket(`ws://127.0.0.1:${ide.port}${where}`, protocol ? [protocol] : [], { headers: { [header]: token } });
        const client = new Client((text) => ws.send(text));
        const closed = new Promise((done) => ws.on('close', (code) => done(code)));
        ws.on('error', () => {});
        ws.on('unexpected-response', (request, response) => {
            resolve({ status: response.statusCode });
            request.destroy();
        });
        ws.on('message', (data) => {
            const message = JSON.parse(data);
            if (message.method === 'ping' && !silent)
                client.send({ id: message.id, result: {} });
            client.inbox.put(message);
        });
        ws.on('ping', () => client.inbox.put({ frame: 'ping' }));
        ws.on('open', async () => {
            // A refusal follows the welcome at once.
            const code = await Promise.race([closed, sleep(token === ide.lock.authToken ? 0 : 2000)]);
            resolve(code ? { code } : { client, ws, closed });
        });
    });
}

async function connectSse(ide, token = ide.lock.authToken) {
    const base = `http://127.0.0.1:${ide.port}`;
    const headers = { [header]: token };
    const response = await fetch(`${base}/sse`, { headers });
    if (!response.ok)
        return { status: response.status };
    const events = new Mail();
    (async () => {
        let text = '';
        for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
            text += piece;
            for (let at; (at = text.indexOf('\n\n')) >= 0; text = text.slice(at + 2)) {
                const [type, data] = text.slice(0, at).split('\n').map((line) => line.replace(/^\w+: /, ''));
                if (type === 'message')
                    client.inbox.put(JSON.parse(data));
                else
                    events.put(data);
            }
        }
        events.put('over');
    })().catch(() => events.put('over'));
    const client = new Client(async (body) => {
        const posted = await fetch(base + endpoint, { method: 'POST', headers, body });
        assert.equal(posted.status, 202);
    });
    const endpoint = await events.take();
    return { client, events, endpoint: base + endpoint };
}

// ---- cases ----

async function diffs(ide, client) {
    const open = (tab) => client.call('openDiff', { old_file_path: '/a', new_file_path: '/a', new_file_contents: 'new', tab_name: tab });
    const first = open('one');
    await ide.said.until('openDiff one');
    assert.equal(await Promise.race([first, sleep(200).then(() => 'blocked')]), 'blocked');
    ide.act('accept one');
    assert.deepEqual((await first).content.map((part) => part.text), ['FILE_SAVED', 'new']);
    const second = open('two');
    await ide.said.until('openDiff two');
    ide.act('reject two');
    assert.deepEqual((await second).content.map((part) => part.text), ['DIFF_REJECTED']);
}

const cases = {
    async 'the lock file is private, true, and gone at the end'() {
        const ide = await startIde('nvim', '--name', 'Some');
        assert.equal(fs.statSync(ide.file).mode & 0o777, 0o600);
        assert.equal(fs.statSync(path.dirname(ide.file)).mode & 0o777, 0o700);
        const { authToken, ...rest } = ide.lock;
        assert.match(authToken, /^[0-9a-f]{32}$/);
        assert.deepEqual(rest, { pid: ide.pid, workspaceFolders: [top], ideName: 'Some', transport: 'ws', runningInWindows: false });
        assert.deepEqual(fs.readdirSync(path.dirname(ide.file)), [path.basename(ide.file)]);
        assert.equal(await ide.end(), 0);
        assert.equal(fs.existsSync(ide.file), false);
    },
    async 'nvim: a session'() {
        const ide = await startIde('nvim');
        const { client, ws } = await connectWs(ide, { where: '/any', protocol: null });
        const names = await client.begin('2024-11-05');
        assert.equal(names.length, 10);
        assert.ok(!names.includes('close_tab'));
        await ide.said.until('ide_connected 42');
        const { content } = await client.call('getWorkspaceFolders');
        assert.equal(JSON.parse(content[0].text).rootPath, top);
        assert.equal((await client.request('nothing/here')).error.code, -32601);
        assert.equal((await client.call('openFile')).isError, true);
        await diffs(ide, client);
        ws.close(1000);
        await ide.said.until('closed 1000');
        await ide.end();
    },
    async 'nvim: a wrong token gets status 400'() {
        const ide = await startIde('nvim');
        assert.deepEqual(await connectWs(ide, { token: 'wrong-token-wrong' }), { status: 400 });
        await ide.said.until('refused');
        await ide.end();
    },
    async 'nvim: pings with frames and drops who is gone'() {
        const ide = await startIde('nvim', '--ping', '100');
        const { client, ws, closed } = await connectWs(ide);
        await client.inbox.until((m) => m.frame === 'ping');
        await client.inbox.until((m) => m.frame === 'ping');
        ws._socket.pause();
        await ide.said.until('silent');
        ws._socket.resume();
        assert.equal(await closed, 1006);
        await ide.end();
    },
    async 'nvim: the user tells things'() {
        const ide = await startIde('nvim');
        const { client, closed } = await connectWs(ide);
        await client.begin('2024-11-05');
        ide.act('select /a b.c');
        const selected = await client.inbox.until((m) => m.method === 'selection_changed');
        assert.equal(selected.params.filePath, '/a b.c');
        ide.act('mention /m.c');
        assert.equal((await client.inbox.take()).method, 'at_mentioned');
        ide.act('diagnostics file:///m.c');
        assert.deepEqual((await client.inbox.take()).params, { uri: 'file:///m.c' });
        ide.act('drop');
        assert.equal(await closed, 1006);
        await ide.end();
    },
    async 'nvim: a cancelled diff is never answered'() {
        const ide = await startIde('nvim');
        const { client } = await connectWs(ide);
        client.send({ id: 'd', method: 'tools/call', params: { name: 'openDiff', arguments: { old_file_path: '/a', new_file_contents: '', tab_name: 'x' } } });
        await ide.said.until('openDiff x');
        client.send({ method: 'notifications/cancelled', params: { requestId: 'd' } });
        await ide.said.until('cancelled x');
        ide.act('accept x');
        ide.act('select /s.c');
        assert.equal((await client.inbox.take()).method, 'selection_changed');
        await ide.end();
    },
    async 'jetbrains: a session'() {
        const ide = await startIde('jetbrains');
        assert.equal(ide.lock.authToken.length, 86);
        const { client, ws } = await connectWs(ide);
        assert.equal(ws.protocol, 'mcp');
        const names = await client.begin('2025-03-26');
        assert.ok(names.includes('reformat_file') && names.includes('close_tab'));
        await diffs(ide, client);
        const third = client.call('openDiff', { old_file_path: '/a', new_file_contents: 'new', tab_name: 'three' });
        await ide.said.until('openDiff three');
        client.send({ id: 'c', method: 'tools/call', params: { name: 'close_tab', arguments: { tab_name: 'three' } } });
        assert.equal((await third).content[0].text, 'DIFF_REJECTED');
        await ide.end();
    },
    async 'jetbrains: a wrong token is let in and closed with 1008'() {
        const ide = await startIde('jetbrains');
        assert.deepEqual(await connectWs(ide, { token: 'wrong-token-wrong' }), { code: 1008 });
        await ide.end();
    },
    async 'jetbrains: path and subprotocol matter'() {
        const ide = await startIde('jetbrains');
        assert.deepEqual(await connectWs(ide, { where: '/' }), { status: 404 });
        assert.deepEqual(await connectWs(ide, { protocol: null }), { status: 400 });
        await ide.end();
    },
    async 'jetbrains: who answers pings stays, who does not is dropped'() {
        const ide = await startIde('jetbrains', '--ping', '100');
        const good = await connectWs(ide);
        for (let i = 0; i < 4; i++)
            await good.client.inbox.until((m) => m.method === 'ping');
        const bad = await connectWs(ide, { silent: true });
        assert.equal(await bad.closed, 1006);
        await ide.said.until('silent');
        assert.equal(good.ws.readyState, 1);
        await ide.end();
    },
    async 'sse: a session'() {
        const ide = await startIde('sse');
        assert.equal(ide.lock.transport, 'sse');
        const { client } = await connectSse(ide);
        const names = await client.begin('2024-11-05');
        assert.equal(names.length, 12);
        await ide.said.until('ide_connected 42');
        await diffs(ide, client);
        await ide.end();
    },
    async 'sse: a wrong token gets status 401, on messages as well'() {
        const ide = await startIde('sse');
        assert.deepEqual(await connectSse(ide, 'wrong-token-wrong'), { status: 401 });
        const { endpoint } = await connectSse(ide);
        assert.equal((await fetch(endpoint, { method: 'POST', body: '{}' })).status, 401);
        await ide.end();
    },
    async 'sse: a cut connection ends the stream'() {
        const ide = await startIde('sse');
        const { events } = await connectSse(ide);
        ide.act('drop');
        assert.equal(await events.take(), 'over');
        await ide.said.until('closed 0');
        await ide.end();
    },
};

let failures = 0;
for (const [name, run] of Object.entries(cases)) {
    try {
        await run();
        console.log(`PASS: ${name}`);
    } catch (error) {
        failures++;
        console.log(`FAIL: ${name}: ${error.stack}`);
    }
}
fs.rmSync(top, { recursive: true });
console.log(`${Object.keys(cases).length - failures} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
