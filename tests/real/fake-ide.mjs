// fake-ide.mjs - the server in an editor, as plugins for command line companions have it.
//
//   MCPLUG_TEST_NPM=DIR node fake-ide.mjs --dialect nvim|jetbrains|sse --dir DIR
//       --workspace PATH [--name NAME] [--token TOKEN] [--ping MS]
//
// Writes DIR/ide/PORT.lock, DIR being what CLAUDE_CONFIG_DIR would name, and prints the
// port. It ends, and takes the file with it, when its input does.
//
// nvim       WebSocket on any path, answers 2024-11-05; a wrong token gets status 400;
//            pings with frames every 30 s
// jetbrains  WebSocket on /mcp with subprotocol mcp, answers 2025-03-26; a wrong token is
//            let in and closed with 1008; pings with requests every 5 s and drops who
//            is silent for 3 s then
// sse        HTTP+SSE of 2024-11-05 on /sse; a wrong token gets status 401
//
// --ping sets the time between pings; the time for the answer is 3/5 of it.
//
// Read from stdin, what the user of the editor does:
//   accept TAB | reject TAB     decides about an open diff
//   select FILE                 sends selection_changed
//   mention FILE                sends at_mentioned
//   diagnostics URI             sends diagnostics_changed
//   drop                        cuts all connections
// Told on stdout, one line each:
//   connected | refused | closed CODE | ide_connected PID | openDiff TAB | cancelled TAB
//   | alive (a ping was answered) | silent (one was not)
import { randomBytes, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { parseArgs } from 'node:util';

const { values: given } = parseArgs({
    options: {
        dialect: { type: 'string', default: 'nvim' },
        dir: { type: 'string' },
        workspace: { type: 'string' },
        name: { type: 'string' },
        token: { type: 'string' },
        ping: { type: 'string' },
    },
});

const dialects = {
    nvim: {
        name: 'Neovim',
        transport: 'ws',
        revision: '2024-11-05',
        pingMs: 30000,
        token: () => randomBytes(16).toString('hex'),
        hidden: ['close_tab', 'executeCode', 'open_files', 'get_all_opened_file_paths', 'reformat_file'],
    },
    jetbrains: {
        name: 'IntelliJ IDEA',
        transport: 'ws',
        revision: '2025-03-26',
        pingMs: 5000,
        token: () => randomBytes(64).toString('base64url'),
        only: ['openDiff', 'openFile', 'open_files', 'close_tab', 'get_all_opened_file_paths', 'reformat_file', 'getDiagnostics'],
    },
    sse: {
        name: 'Visual Studio Code',
        transport: 'sse',
        revision: '2024-11-05',
        pingMs: 0,
        token: randomUUID,
        hidden: ['open_files', 'get_all_opened_file_paths', 'reformat_file'],
    },
};
const dialect = dialects[given.dialect];
if (!dialect || !given.dir || !given.workspace) {
    console.error('usage: fake-ide.mjs --dialect nvim|jetbrains|sse --dir DIR --workspace PATH');
    process.exit(2);
}
const token = given.token ?? dialect.token();
const pingMs = given.ping ? Number(given.ping) : dialect.pingMs;
const header = 'x-claude-code-ide-authorization';
const bodyMax = 4 << 20;
const say = (line) => process.stdout.write(`${line}\n`);

// ---- tools ----

const strings = (...names) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace('?', ''), { type: 'string' }])),
    required: names.filter((name) => !name.endsWith('?')),
});
const texts = (...parts) => ({ content: parts.map((text) => ({ type: 'text', text })) });
const json = (value) => texts(JSON.stringify(value));
const failed = (text) => ({ ...texts(text), isError: true });

const diffs = new Map(); // tab -> { connection, id, contents }
const opened = [];
let selection = null;

function decide(tab, accepted) {
    const diff = diffs.get(tab);
    if (!diff)
        return false;
    diffs.delete(tab);
    diff.connection.answer(diff.id, accepted ? texts('FILE_SAVED', diff.contents) : texts('DIFF_REJECTED'));
    return true;
}

// Each gives its result, or undefined: it will answer later.
const tools = {
    openFile: [strings('filePath', 'startText?', 'endText?'), ({ filePath }) => {
        opened.push(filePath);
        return given.dialect === 'jetbrains' ? texts('OK') : texts(`Opened file: ${filePath}`);
    }],
    openDiff: [strings('old_file_path', 'new_file_path?', 'new_file_contents', 'tab_name'), (args, connection, id) => {
        decide(args.tab_name, false);
        diffs.set(args.tab_name, { connection, id, contents: args.new_file_contents });
        say(`openDiff ${args.tab_name}`);
    }],
    getCurrentSelection: [strings(), () => json(selection ?? { success: false, message: 'No active editor found' })],
    getLatestSelection: [strings(), () => json(selection ?? { success: false, message: 'No selection available' })],
    getOpenEditors: [strings(), () => json({
        tabs: opened.map((file, i) => ({
            uri: `file://${file}`,
            label: path.basename(file),
            isActive: i + 1 === opened.length,
            isDirty: false,
        })),
    })],
    getWorkspaceFolders: [strings(), () => json({
        success: true,
        folders: [{ name: path.basename(given.workspace), uri: `file://${given.workspace}`, path: given.workspace }],
        rootPath: given.workspace,
    })],
    getDiagnostics: [strings('uri?'), ({ uri }) => json([{ uri: uri ?? `file://${given.workspace}/a.c`, diagnostics: [] }])],
    checkDocumentDirty: [strings('filePath'), ({ filePath }) => json(
        opened.includes(filePath)
            ? { success: true, filePath, isDirty: false, isUntitled: false }
            : { success: false, message: `Document not open: ${filePath}` })],
    saveDocument: [strings('filePath'), ({ filePath }) => json(
        opened.includes(filePath)
            ? { success: true, filePath, saved: true }
            : { success: false, message: `Document not open: ${filePath}` })],
    close_tab: [strings('tab_name'), ({ tab_name: tab }) => texts(decide(tab, false) ? 'TAB_CLOSED' : 'Tab not found')],
    closeAllDiffTabs: [strings(), () => {
        const tabs = [...diffs.keys()];
        tabs.forEach((tab) => decide(tab, false));
        return texts(`CLOSED_${tabs.length}_DIFF_TABS`);
    }],
    executeCode: [strings('code'), ({ code }) => texts(`no kernel for ${code.length} characters`)],
    open_files: [
        { type: 'object', properties: { file_paths: { type: 'array', items: { type: 'string' } } }, required: ['file_paths'] },
        ({ file_paths: files }) => {
            opened.push(...files);
            return json({ opened_files: files });
        },
    ],
    get_all_opened_file_paths: [strings(), () => texts(opened.join('\n'))],
    reformat_file: [strings('file_path'), ({ file_path: file }) => texts(opened.includes(file) ? 'OK' : 'File not found')],
};
const isListed = (name) => (dialect.only ? dialect.only.includes(name) : !dialect.hidden.includes(name));
const listed = Object.entries(tools)
    .filter(([name]) => isListed(name))
    .map(([name, [inputSchema]]) => ({ name, description: `${name} of the editor`, inputSchema }));

// ---- one client ----

const connections = new Set();

class Connection {
    constructor(send, cut) {
        this.send = (message) => send(JSON.stringify({ jsonrpc: '2.0', ...message }));
        this.cut = cut;
        this.pings = 0;
        connections.add(this);
        say('connected');
    }

    ended(code) {
        clearInterval(this.pinger);
        clearTimeout(this.patience);
        for (const [tab, diff] of diffs)
            if (diff.connection === this)
                diffs.delete(tab);
        if (connections.delete(this))
            say(`closed ${code}`);
    }

    answer(id, result) {
        this.send({ id, result });
    }

    // Asks for life with a request, and is not patient.
    startRequests() {
        this.pinger = setInterval(() => {
            this.send({ id: `ping-${++this.pings}`, method: 'ping' });
            this.patience = setTimeout(() => {
                say('silent');
                this.cut();
            }, pingMs * 0.6);
        }, pingMs);
    }

    request(id, method, params) {
        const empty = { prompts: [], resources: [], resourceTemplates: [] };
        if (method === 'initialize')
            this.answer(id, {
                protocolVersion: dialect.revision,
                capabilities: { tools: { listChanged: true } },
                serverInfo: { name: `fake ${dialect.name}`, version: '1.0.0' },
            });
        else if (method === 'ping')
            this.answer(id, {});
        else if (method === 'tools/list')
            this.answer(id, { tools: listed });
        else if (method === 'tools/call')
            this.call(id, params);
        else if (given.dialect !== 'sse' && ['prompts/list', 'resources/list'].includes(method))
            this.answer(id, { [method.split('/')[0]]: empty[method.split('/')[0]] });
        else
            this.send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
    }

    call(id, { name, arguments: args = {} } = {}) {
        if (!Object.hasOwn(tools, name)) {
            this.send({ id, error: { code: -32602, message: `Tool not found: ${name}` } });
            return;
        }
        const [schema, run] = tools[name];
        const missing = schema.required.filter((key) => args[key] === undefined);
        const result = missing.length ? failed(`missing: ${missing.join(', ')}`) : run(args, this, id);
        if (result)
            this.answer(id, result);
    }

    notification(method, params = {}) {
        if (method === 'ide_connected')
            say(`ide_connected ${params.pid}`);
        if (method !== 'notifications/cancelled')
            return;
        for (const [tab, diff] of diffs)
            if (diff.connection === this && diff.id === params.requestId) {
                diffs.delete(tab);
                say(`cancelled ${tab}`);
            }
    }

    received(text) {
        let message;
        try {
            message = JSON.parse(text);
        } catch {
            this.send({ id: null, error: { code: -32700, message: 'Parse error' } });
            return;
        }
        clearTimeout(this.patience);
        if (message.method === undefined) { // the answer to a ping
            say('alive');
            return;
        }
        if (message.id === undefined)
            this.notification(message.method, message.params);
        else
            this.request(message.id, message.method, message.params);
    }
}

// ---- WebSocket ----

function refuse(socket, status, text) {
    say('refused');
    socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nContent-Type: text/plain\r\n` +
        `Content-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
}

function startFrames(ws, connection) {
    let alive = true;
    ws.on('pong', () => {
        alive = true;
        say('alive');
    });
    connection.pinger = setInterval(() => {
        if (!alive) {
            say('silent');
            ws.terminate();
        }
        alive = false;
        ws.ping();
    }, pingMs);
}

function serveWs(server) {
    const require = createRequire(`${process.env.MCPLUG_TEST_NPM}/`);
    const { WebSocketServer } = require('ws');
    const strict = given.dialect === 'jetbrains';
    const wss = new WebSocketServer({
        noServer: true,
        handleProtocols: (offered) => (offered.has('mcp') ? 'mcp' : false),
    });
    server.on('upgrade', (request, socket, head) => {
        const good = request.headers[header] === token;
        const offered = (request.headers['sec-websocket-protocol'] ?? '').split(/\s*,\s*/);
        socket.on('error', () => {});
        if (strict && request.url !== '/mcp')
            return refuse(socket, 404, 'Not Found');
        if (strict && !offered.includes('mcp'))
            return refuse(socket, 400, 'Invalid subprotocol');
        if (!strict && !good)
            return refuse(socket, 400, 'Bad WebSocket upgrade request: Invalid authentication token');
        wss.handleUpgrade(request, socket, head, (ws) => {
            ws.on('error', () => {});
            if (!good) {
                say('refused');
                ws.close(1008, 'Invalid or missing authentication token');
                return;
            }
            const connection = new Connection((text) => ws.send(text), () => ws.terminate());
            ws.on('message', (data) => connection.received(data.toString()));
            ws.on('close', (code) => connection.ended(code));
            if (strict)
                connection.startRequests();
            else
                startFrames(ws, connection);
        });
    });
    server.on('request', (request, response) => response.writeHead(426).end());
}

// ---- HTTP+SSE ----

function openStream(response, sessions) {
    const session = randomUUID();
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    response.write(`event: endpoint\ndata: /messages?sessionId=${session}\n\n`);
    const connection = new Connection(
        (text) => response.write(`event: message\ndata: ${text}\n\n`),
        () => response.destroy());
    sessions.set(session, connection);
    response.on('close', () => {
        sessions.delete(session);
        connection.ended(0);
    });
}

function takeMessage(request, response, connection) {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece) => {
        body += piece;
        if (body.length > bodyMax)
            request.destroy();
    });
    request.on('end', () => {
        response.writeHead(202).end('Accepted');
        connection.received(body);
    });
}

function serveSse(server) {
    const sessions = new Map();
    server.on('request', (request, response) => {
        const url = new URL(request.url, 'http://127.0.0.1');
        const connection = sessions.get(url.searchParams.get('sessionId'));
        if (request.headers[header] !== token) {
            say('refused');
            response.writeHead(401).end('Unauthorized');
        } else if (request.method === 'GET' && url.pathname === '/sse')
            openStream(response, sessions);
        else if (request.method === 'POST' && url.pathname === '/messages' && connection)
            takeMessage(request, response, connection);
        else
            response.writeHead(url.pathname === '/sse' ? 405 : 404).end();
    });
}

// ---- the lock file, the user, the end ----

function writeLock(port) {
    const dir = path.join(given.dir, 'ide');
    const file = path.join(dir, `${port}.lock`);
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    fs.chmodSync(dir, 0o700);
    fs.writeFileSync(`${file}.tmp`, JSON.stringify({
        pid: process.pid,
        workspaceFolders: [given.workspace],
        ideName: given.name ?? dialect.name,
        transport: dialect.transport,
        runningInWindows: false,
        authToken: token,
    }), { mode: 0o600 });
    fs.renameSync(`${file}.tmp`, file);
    return file;
}

function act(line) {
    const [word, ...rest] = line.trim().split(' ');
    const what = rest.join(' ');
    const tell = (method, params) => connections.forEach((c) => c.send({ method, params }));
    if (word === 'accept' || word === 'reject')
        decide(what, word === 'accept');
    else if (word === 'select') {
        const at = (character) => ({ line: 0, character });
        selection = {
            text: 'int',
            filePath: what,
            fileUrl: `file://${what}`,
            selection: { start: at(0), end: at(3), isEmpty: false },
        };
        tell('selection_changed', selection);
    } else if (word === 'mention')
        tell('at_mentioned', { filePath: what, lineStart: 0, lineEnd: 2 });
    else if (word === 'diagnostics')
        tell('diagnostics_changed', { uri: what });
    else if (word === 'drop')
        connections.forEach((c) => c.cut());
    else if (word)
        console.error(`what is "${word}"?`);
}

const server = http.createServer();
if (dialect.transport === 'ws')
    serveWs(server);
else
    serveSse(server);
server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    const lock = writeLock(port);
    const end = () => {
        fs.rmSync(lock, { force: true });
        process.exit(0);
    };
    process.stdout.on('error', end);
    process.on('SIGTERM', end);
    readline.createInterface({ input: process.stdin }).on('line', act).on('close', end);
    say(port);
});
