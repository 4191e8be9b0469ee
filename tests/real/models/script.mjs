// script.mjs - a server that plays the APIs of models from a script.
//
//   node script.mjs [--port PORT] [--stdin] SCRIPT.json [JOURNAL]
//
// Prints the port, on 127.0.0.1, and serves until it is killed; with --stdin until its
// input ends. Any path before /v1 will do.
//
//   anthropic    POST /v1/messages, /v1/messages/count_tokens
//   openai       POST /v1/responses, /v1/responses/input_tokens
//   openai-chat  POST /v1/chat/completions
//   gemini       POST /v1beta/models/MODEL:streamGenerateContent, :generateContent, :countTokens
//
// Requests that the real API refuses are refused in its words, with status 400; they use up
// no turn. The checks are made from what is known of the APIs, and are not complete.
//
// A script is a list of turns, or an object:
//   turns     the list; a request gets the first one that is left and whose `when` fits
//   counts    for requests to count: [{"tokens": N} | {"fault": ..}] in order; what comes
//             after these gets an estimate, a quarter of the characters
//   key       what clients must send; without it any key will do, but there must be one
//   context   tokens that a conversation may have, by the estimate
//   bytes     of a request
//   refuses   names of parameters that this server does not know
//   check     false: accept any JSON
//   piece     characters in a piece of text; 8
//
// A turn, all of it optional:
//   when      {api, model, system, last, result, tool, assistant, results}: the model is
//             this one; instructions, last message, result of a tool in it have this text;
//             this tool is offered; so many turns of the assistant were sent; so many
//             results are in the last message
//   times     how often it is served; 1. 0: for ever
//   thought   said before the text. Signed, where the API signs
//   text      {{last}} is the text of the last message, {{result}} that of the results in it
//   calls     [{name, arguments, id?, times?, namespace?}]: arguments are an object, or text
//             as it is sent, which need not be JSON; "" is no arguments at all. Namespaces
//             are those of openai
//   parts     in place of these three: [{text} | {thought} | {redacted} | {call}], in order
//   stop      end, tools, length, refused, filter, full (the context), paused, sequence, or
//             a word of the API. tools if there are calls, else end
//   explanation  of a refusal
//   usage     {input, cached, to_cache, output, thoughts}: tokens; input has the next two
//             in it, output the last. Estimates, where they are left out
//   quirks    ways of servers that are compatible only nearly. openai-chat: name-repeated,
//             no-index, no-id, empty-id, finish-stop, arguments-object, whole-calls,
//             interleaved, no-done, no-usage, reasoning_content; gemini: no-id,
//             no-signature; openai: flat-error; anthropic, openai: unknown (an event)
//   fault     what goes wrong:
//     status, message, type, code    an error in place of the answer
//     overloaded  true: the status that the API has for it
//     context     true: the conversation is too long
//     retry_after, retry_after_ms    when to ask again: headers, or where the API says it
//     headers, body    more headers; text in place of the document
//     error       {status, message, type, code, after}: an error in the stream, after that
//                 many events
//     cut         {bytes} or {events}: closes the connection there; with reset: true by RST;
//                 "headers": before it answers at all
//     end         {bytes} or {events}: ends the stream there as if it were whole
//     stall       {bytes} or {events}: says nothing more, and keeps the connection
//     split       true: each byte is sent by itself; N: N bytes
//     pings       so many before each event
//     delay, pause, pace    ms before the headers, before the first event, between events
//     escape      true: JSON in the stream is ASCII
//     newline     of the stream: "\n", "\r\n" or "\r"
//
// The journal has two lines of JSON for each request:
//   {n, api, kind, method, path, headers, body, turn, refused?, view}   when it came
//   {n, status, end}     when it is over: "done", "cut", or "gone" if the client went
// Values of keys are not in it, only their length.
import fs from "node:fs";
import http from "node:http";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { anthropic } from "./anthropic.mjs";
import { Memory, Refusal, estimate, isObject, isText, refuse } from "./common.mjs";
import { gemini } from "./gemini.mjs";
import { chat, responses } from "./openai.mjs";

const APIS = [anthropic, responses, chat, gemini];
const SECRETS = ["authorization", "x-api-key", "x-goog-api-key", "cookie"];
const CONTEXT = 200000; // said of a context without a limit that was too long

// ---- the script ----

const NO_USAGE = { input: undefined, cached: 0, to_cache: 0, output: undefined, thoughts: 0 };

function readScript(file) {
    const given = JSON.parse(fs.readFileSync(file, "utf8"));
    const script = Array.isArray(given) ? { turns: given } : given;
    return {
        ...script,
        turns: (script.turns ?? []).map((turn) =>
            ({ ...turn, left: turn.times === 0 ? Infinity : turn.times ?? 1 })),
        counts: [...(script.counts ?? [])],
    };
}

function fits(when, api, view) {
    const has = (text, part) => part === undefined || text.includes(part);
    const is = (value, wanted) => wanted === undefined || value === wanted;
    return !when || (is(api.name, when.api) && is(view.model, when.model) && has(view.system, when.system) &&
        has(view.last, when.last) && is(view.assistant, when.assistant) &&
        is(view.results.length, when.results) &&
        (when.result === undefined || view.results.some((result) => result.text.includes(when.result))) &&
        (when.tool === undefined || view.tools.includes(when.tool)));
}

const argumentsOf = (call) => isText(call.arguments) ? call.arguments : JSON.stringify(call.arguments ?? {});

// As the APIs want it: parts in order, and nothing left out.
function completed(turn, script, view, tokens) {
    const fill = (text) => text.replaceAll("{{last}}", view.last)
        .replaceAll("{{result}}", view.results.map((result) => result.text).join("\n"));
    const given = turn.parts ?? [
        ...(turn.thought ? [{ thought: turn.thought }] : []),
        ...(turn.text ? [{ text: turn.text }] : []),
        ...(turn.calls ?? []).map((call) => ({ call })),
    ];
    const parts = given.flatMap((part) => part.call
        ? Array.from({ length: part.call.times ?? 1 }, () =>
            ({ call: { ...part.call, arguments: argumentsOf(part.call) } }))
        : [isText(part.text) ? { text: fill(part.text) } : part]);
    const usage = { ...NO_USAGE, ...turn.usage };
    usage.input ??= tokens;
    usage.output ??= estimate(parts);
    return {
        parts,
        usage,
        stop: turn.stop ?? (parts.some((part) => part.call) ? "tools" : "end"),
        explanation: turn.explanation ?? "I cannot help with that.",
        quirks: new Set(turn.quirks),
        piece: script.piece ?? 8,
    };
}

// ---- the journal ----

function masked(headers) {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) =>
        [name, SECRETS.includes(name) ? `(${value.length} bytes)` : value]));
}

function journalTo(file) {
    if (!file)
        return () => {};
    const fd = fs.openSync(file, "a", 0o600);
    return (entry) => fs.writeSync(fd, `${JSON.stringify(entry)}\n`);
}

// ---- answers on the wire ----

const escaped = (json) => json.replace(/[\u0080-\uffff]/g, (unit) =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

function bytesOf(frame, newline, escape) {
    if (frame.comment)
        return Buffer.from(`: ${frame.comment}${newline}${newline}`);
    const json = isText(frame.data) ? frame.data : JSON.stringify(frame.data);
    return Buffer.from((frame.event ? `event: ${frame.event}${newline}` : "") +
        `data: ${escape ? escaped(json) : json}${newline}${newline}`);
}

// The first events or bytes of a list of buffers.
function upTo(buffers, limit) {
    if (limit.events !== undefined)
        return buffers.slice(0, limit.events);
    const out = [];
    let room = limit.bytes ?? 0;
    for (const buffer of buffers) {
        if (room > 0)
            out.push(buffer.subarray(0, room));
        room -= buffer.length;
    }
    return out;
}

// Resolves when the bytes have left, or can no longer.
function write(response, bytes) {
    return new Promise((resolve) => {
        const done = () => {
            response.off("close", done);
            resolve();
        };
        response.once("close", done);
        response.write(bytes, done);
    });
}

const wait = async (ms) => ms && sleep(ms, undefined, { ref: false });

async function play(api, frames, turn, response) {
    const fault = turn.fault ?? {}, newline = fault.newline ?? api.newline;
    if (fault.error)
        frames = [...frames.slice(0, fault.error.after ?? 1),
            api.frameOfFailure(fault.error, turn, fault.error.after ?? 1)];
    const ping = bytesOf(api.ping, newline), n = fault.pings ?? 0;
    let buffers = frames.map((frame) => Buffer.concat([...Array(n).fill(ping),
        bytesOf(frame, newline, fault.escape)]));
    const limit = fault.cut ?? fault.end ?? fault.stall;
    if (limit)
        buffers = upTo(buffers, limit);
    const size = fault.split === true ? 1 : fault.split;

    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache" });
    response.flushHeaders();
    await wait(fault.pause);
    for (const buffer of buffers) {
        for (let i = 0; i < buffer.length && !response.destroyed; i += size ?? buffer.length) {
            await write(response, buffer.subarray(i, i + (size ?? buffer.length)));
            if (size)
                await breathe();
        }
        await wait(fault.pace);
    }
    if (fault.cut) {
        response.cut = true;
        if (fault.cut.reset)
            response.socket?.resetAndDestroy();
        else
            response.socket?.destroy();
    } else if (!fault.stall) {
        response.end();
    }
}

// As an array of what would have been the events.
function playArray(frames, response) {
    response.writeHead(200, { "content-type": "application/json; charset=UTF-8" });
    response.end(`[${frames.map((frame) => JSON.stringify(frame.data, null, 2)).join("\n,\r\n")}]`);
}

function fail(api, given, response, id) {
    const headers = { "content-type": "application/json", ...given.headers };
    if (!api.retryInBody) {
        if (given.retry_after !== undefined)
            headers["retry-after"] = String(given.retry_after);
        if (given.retry_after_ms !== undefined)
            headers["retry-after-ms"] = String(given.retry_after_ms);
    }
    response.writeHead(given.status, headers);
    response.end(given.body ?? JSON.stringify(api.failure(given.status, { ...given, id })));
}

// What a fault says in place of an answer, or undefined.
function failureOf(fault, api, tokens, script) {
    if (fault?.context)
        return { ...api.tooLong(tokens, script.context ?? CONTEXT), ...fault };
    if (fault?.overloaded)
        return { status: api.overloaded, ...fault };
    return fault?.status ? fault : undefined;
}

// ---- requests ----

async function bodyOf(request, most) {
    const chunks = [];
    let size = 0;
    for await (const chunk of request) {
        size += chunk.length;
        if (size <= most)
            chunks.push(chunk);
    }
    return { size, bytes: Buffer.concat(chunks) };
}

function parse(bytes, type) {
    let body;
    if (!/^application\/json\b/.test(type ?? ""))
        refuse("The request must have the content type application/json.");
    try {
        body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch (error) {
        refuse(`The request body is not valid JSON: ${error.message}`);
    }
    if (!isObject(body))
        refuse("The request body is not valid JSON: expected an object");
    // JSON.stringify() escapes surrogates that are alone, and no others.
    if (/(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(body)))
        refuse("The request body is not valid JSON: no low surrogate in string");
    return body;
}

class Player {
    #n = 0;

    constructor(script, journal) {
        this.script = script;
        this.journal = journal;
        this.memories = new Map(APIS.map((api) => [api, new Memory()]));
    }

    #checkKey(api, headers, query) {
        const key = api.key(headers, query);
        if (!key)
            throw new Refusal(api.noKey.message, api.noKey);
        if (this.script.key !== undefined && key !== this.script.key)
            throw Object.assign(new Refusal("wrong key"), { given: api.wrongKey });
    }

    // What is to be done with a request. Throws a Refusal.
    #decide(api, asked, entry) {
        const { script } = this, memory = this.memories.get(api), body = asked.body;
        if (script.check !== false) {
            for (const name of script.refuses ?? [])
                if (name in body)
                    refuse(`Unknown parameter: '${name}'.`, { param: name, code: "unknown_parameter" });
            api.check(body, asked, memory);
        }
        const view = entry.view = api.view(body, asked, memory), tokens = api.tokensOf(body, asked);
        if (asked.kind === "count") {
            const turn = script.counts.shift() ?? {};
            return { turn, given: failureOf(turn.fault, api, tokens, script),
                document: api.count(turn.tokens ?? tokens) };
        }
        const turn = script.turns.find((one) => one.left > 0 && fits(one.when, api, view));
        if (!turn)
            refuse("script: no turn is left for this request");
        turn.left--;
        entry.turn = script.turns.indexOf(turn);
        if (tokens > (script.context ?? Infinity))
            return { turn, given: api.tooLong(tokens, script.context) };
        const given = failureOf(turn.fault, api, tokens, script);
        if (given || turn.fault?.cut === "headers")
            return { turn, given };
        const full = completed(turn, script, view, tokens);
        return { turn: { ...full, fault: turn.fault }, answer: api.answer(full, asked, memory) };
    }

    async serve(request, response) {
        const n = ++this.#n, url = new URL(request.url, "http://localhost");
        const path = url.pathname, query = url.searchParams;
        let api, route;
        for (const one of APIS) {
            route = one.route(path, query);
            if (route) {
                api = one;
                break;
            }
        }
        const entry = { n, api: api?.name, kind: route?.kind, method: request.method,
            path: path + (query.has("alt") ? `?alt=${query.get("alt")}` : ""),
            headers: masked(request.headers) };
        response.once("close", () => this.journal({ n, status: response.statusCode,
            end: response.cut ? "cut" : response.writableFinished ? "done" : "gone" }));
        if (!api || request.method !== "POST") {
            this.journal(entry);
            response.writeHead(api ? 405 : 404, { "content-type": "text/plain" }).end("no such endpoint\n");
            return;
        }

        const most = this.script.bytes ?? api.maxBytes, { size, bytes } = await bodyOf(request, most);
        const asked = { ...route, headers: request.headers }, id = this.memories.get(api).id("req_");
        let plan;
        response.setHeader(api.idHeader, id);
        try {
            this.#checkKey(api, request.headers, query);
            if (size > most)
                refuse(`Request exceeds the maximum size: ${most} bytes`, { status: 413 });
            entry.body = asked.body = parse(bytes, request.headers["content-type"]);
            plan = this.#decide(api, asked, entry);
        } catch (error) {
            // Of what no check foresaw the checks themselves fail.
            const refusal = error instanceof Refusal ? error
                : new Refusal(`script: a request of an unexpected form: ${error.message}`);
            entry.refused = refusal.message;
            plan = { turn: {}, given: refusal.given };
        }
        this.journal(entry);
        await this.#carryOut(api, asked, plan, response, id);
    }

    async #carryOut(api, asked, { turn, given, document, answer }, response, id) {
        await wait(turn.fault?.delay);
        if (turn.fault?.cut === "headers") {
            response.cut = true;
            response.socket?.destroy();
        } else if (given) {
            fail(api, given, response, id);
        } else if (document || !api.streams(asked)) {
            response.writeHead(200, { "content-type": "application/json" });
            response.end(JSON.stringify(document ?? answer.whole));
        } else if (asked.array) {
            playArray(answer.frames, response);
        } else {
            await play(api, answer.frames, turn, response);
        }
    }
}

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { port: { type: "string", default: "0" }, stdin: { type: "boolean" } },
});
if (positionals.length < 1 || positionals.length > 2) {
    console.error("usage: node script.mjs [--port PORT] [--stdin] SCRIPT.json [JOURNAL]");
    process.exit(2);
}
const player = new Player(readScript(positionals[0]), journalTo(positionals[1]));
const server = http.createServer({ noDelay: true }, (request, response) =>
    player.serve(request, response).catch((error) => {
        if (request.readableAborted || response.destroyed)
            return;
        console.error(error);
        response.destroy();
    }));
server.listen(Number(values.port), "127.0.0.1", () => console.log(server.address().port));
if (values.stdin)
    process.stdin.resume().once("end", () => {
        server.close();
        server.closeAllConnections();
    });
