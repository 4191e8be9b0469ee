// runs-aimock.mjs - whole runs of `mcplug run` against aimock, which others wrote, with
// servers that others wrote doing the work:
//
//   MCPLUG_TEST_NPM=DIR node runs-aimock.mjs TMP
//
// TMP is an empty directory. aimock turns each request of the four APIs into one of Chat
// Completions and keeps it: so its journal says how others read what the modules sent. A
// run has a model of its own, by which its turns and its requests are found.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { directory, report, run, server } from "./command.mjs";

const [tmp] = process.argv.slice(2);
const from = createRequire(path.join(process.env.MCPLUG_TEST_NPM, "node_modules", "x"));
const { LLMock } = await import(pathToFileURL(from.resolve("@copilotkit/aimock")));
const APIS = ["anthropic", "openai", "openai-chat", "gemini"];
const PATHS = { anthropic: "/v1/messages", openai: "/v1/responses", "openai-chat": "/v1/chat/completions",
    gemini: "/v1beta/models/MODEL:streamGenerateContent" };
const NOWHERE = "A tool with the name nowhere was not found. Only use tools that are available in your given list of tools.";

const mock = new LLMock({ host: "127.0.0.1", port: 0, chunkSize: 8, strict: true, logLevel: "silent" });
await mock.start();

// The turns of a run, in order; what is not said of a response is said of its fixture.
function play(model, turns) {
    let at = 0;
    for (const [i, { cut, ...response }] of turns.entries())
        mock.on({ model, predicate: () => at === i }, () => (at++, response),
            cut ? { truncateAfterChunks: cut, latency: 5 } : {});
}

const call = (name, args) => ({ name, arguments: typeof args === "string" ? args : JSON.stringify(args) });
const usage = (input, output) => ({ prompt_tokens: input, completion_tokens: output, input_tokens: input,
    output_tokens: output, promptTokenCount: input, candidatesTokenCount: output });

// What aimock read in each request of a model.
function requests(api, model) {
    const entries = mock.getRequests().filter(({ body }) => body.model === model);
    for (const { method, path: asked, headers, body } of entries) {
        assert.equal(method, "POST");
        assert.equal(asked.split("?")[0], PATHS[api].replace("MODEL", model));
        assert.equal(body.stream, true);
        assert.match(headers["content-type"], /^application\/json/);
    }
    return entries.map(({ body, response }) => ({ ...body, status: response.status }));
}

const textOf = (content) => typeof content === "string" ? content
    : content.map((part) => part.text ?? "").join("");
// Gemini has results as objects.
const resultOf = (api, { content }) => api === "gemini" ? Object.values(JSON.parse(content)).map(textOf).join("")
    : textOf(content);
// Results behind the last words of the user, each held against the call that it answers.
function results(api, body) {
    const calls = body.messages.flatMap((message) => message.tool_calls ?? []);
    return body.messages.filter(({ role }) => role === "tool").map((message) => {
        const asked = calls.find(({ id }) => id === message.tool_call_id);
        assert.ok(asked, `a result without a call: ${JSON.stringify(message)}`);
        return [asked.function.name, resultOf(api, message)];
    });
}

// ---- the work is done by servers of others ----

async function work(api) {
    const model = `work-${api}`, dir = directory(tmp, model), file = path.join(dir, "a.txt");
    const graph = path.join(dir, "memory.jsonl");
    play(model, [
        { content: "I will write it.", reasoning: "A file comes first.", usage: usage(100, 10), toolCalls: [
            call("mcp__files__write_file", { path: file, content: "one\ntwo – 加\n" }),
            call("mcp__memory__create_entities", { entities: [
                { name: "Ada", entityType: "person", observations: ["writes programs"] },
                { name: "Engine", entityType: "machine", observations: ["has wheels"] }] })] },
        { usage: usage(200, 20), toolCalls: [
            call("mcp__files__edit_file", { path: file, edits: [{ oldText: "two", newText: "2" }] }),
            call("mcp__memory__create_relations", { relations: [{ from: "Ada", to: "Engine", relationType: "programs" }] })] },
        { usage: usage(300, 30), toolCalls: [
            call("mcp__files__read_text_file", { path: file }), call("mcp__memory__read_graph", {})] },
        { content: "Ada programs the Engine, and 2 is written.", usage: usage(400, 40) },
    ]);
    const { status, lines, result, err } = await run(api, mock.port, { model, args: ["Write, edit, remember."],
        servers: { files: server("server-filesystem", [dir]), memory: server("server-memory", [], { MEMORY_FILE_PATH: graph }) } });
    assert.equal(status, 0, err);
    assert.equal(result.text, "Ada programs the Engine, and 2 is written.");
    assert.deepEqual([result.end, result.steps, result.calls], ["done", 4, 6]);
    assert.deepEqual([result.usage.input, result.usage.output], [1000, 100]);
    assert.equal(lines.filter(({ type, step }) => type === "text" && step === 1).map(({ text }) => text).join(""),
        "I will write it.");
    assert.equal(fs.readFileSync(file, "utf8"), "one\n2 – 加\n");
    assert.match(fs.readFileSync(graph, "utf8"), /"relationType":"programs"/);

    const asked = requests(api, model);
    assert.deepEqual(asked.map((body) => body.status), [200, 200, 200, 200]);
    for (const body of asked)
        assert.deepEqual(body.tools.map((tool) => tool.function.name), asked[0].tools.map((tool) => tool.function.name));
    for (const name of ["mcp__files__edit_file", "mcp__memory__read_graph"])
        assert.ok(asked[0].tools.some((tool) => tool.function.name === name), name);
    assert.deepEqual(asked.map((body) => results(api, body).length), [0, 2, 4, 6]);
    const last = results(api, asked[3]);
    assert.deepEqual(last.map(([name]) => name.split("__").slice(1).join(".")), ["files.write_file",
        "memory.create_entities", "files.edit_file", "memory.create_relations", "files.read_text_file", "memory.read_graph"]);
    assert.match(last[4][1], /^one\n2 – 加\n$/);
    assert.match(last[5][1], /"programs"/);
    const said = asked[3].messages.filter(({ role, content }) => role === "assistant" && content);
    assert.equal(textOf(said[0].content), "I will write it.");
    assert.equal(textOf(asked[3].messages.find(({ role }) => role === "user").content), "Write, edit, remember.");
}

// ---- what goes wrong on the way ----

async function trouble(api) {
    const model = `trouble-${api}`;
    // Of arguments that are no JSON, aimock makes an empty object where it must parse them.
    const reason = api.startsWith("openai") ? /are not a JSON object/ : /do not fit the tool/;
    play(model, [
        { error: { message: "Rate limit reached", type: "rate_limit_error", code: "rate_limit_exceeded" },
            status: 429, retryAfter: 1 },
        { error: { message: "Internal error", type: "server_error" }, status: 500 },
        { toolCalls: [call("mcp__every__echo", '{"message": "x'), call("nowhere", {}),
            ...Array.from({ length: 10 }, (_, a) => call("mcp__every__get_sum", { a, b: 1 }))] },
        { content: "Two failed, ten did not." },
    ]);
    const { status, lines, result, err } = await run(api, mock.port,
        { model, args: ["Try."], servers: { every: server("server-everything") } });
    assert.equal(status, 0, err);
    assert.equal(result.text, "Two failed, ten did not.");
    const retries = lines.filter(({ type }) => type === "retry");
    assert.equal(retries.length, 2);
    assert.ok(retries[0].ms >= 1000 && retries[0].ms < 2000, `the first retry after ${retries[0].ms} ms`);
    assert.match(retries[0].error, /Rate limit reached/);
    assert.match(retries[1].error, /Internal error/);

    const asked = requests(api, model);
    assert.deepEqual(asked.map((body) => body.status), [429, 500, 200, 200]);
    assert.deepEqual(asked[2].messages, asked[0].messages);
    const answers = results(api, asked[3]).map(([, text]) => text);
    assert.equal(answers.length, 12);
    assert.match(answers[0], reason);
    assert.ok(answers[1].includes(NOWHERE), answers[1]);
    assert.deepEqual(answers.slice(2).map((text) => Number(/is (\d+)/.exec(text)?.[1])), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

// Chunks, of which the last has the first words.
const CUT = { anthropic: 5, openai: 8, "openai-chat": 5, gemini: 2 };

async function cut(api) {
    const model = `cut-${api}`;
    play(model, [{ content: "The first half of an answer that has a second one.", cut: CUT[api] },
        { content: "Never said." }]);
    const { status, lines, result, err } = await run(api, mock.port, { model, args: ["Say it."] });
    assert.equal(status, 6, err);
    assert.equal(result.end, "failed");
    assert.match(lines.filter(({ type }) => type === "text").map(({ text }) => text).join(""), /^The firs/);
    assert.equal(requests(api, model).length, 1);
}

// aimock has none of Responses' ways to refuse: it calls such an answer completed.
async function refusal(api) {
    const model = `refusal-${api}`;
    play(model, [{ content: "No.", finishReason: api === "anthropic" ? "refusal" : "content_filter" }]);
    const { status, result, err } = await run(api, mock.port, { model, args: ["Do harm."] });
    assert.equal(status, 8, err);
    assert.equal(result.end, "refused");
    assert.equal(requests(api, model).length, 1);
}

const TOO_LONG = {
    anthropic: { message: "prompt is too long: 200001 tokens > 200000 maximum", type: "invalid_request_error" },
    openai: { message: "Your input exceeds the context window of this model.", type: "invalid_request_error",
        code: "context_length_exceeded" },
    "openai-chat": { message: "This model's maximum context length is 128000 tokens.", type: "invalid_request_error",
        code: "context_length_exceeded" },
    gemini: { message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        type: "INVALID_ARGUMENT" },
};

async function full(api) {
    const model = `full-${api}`;
    play(model, [{ error: TOO_LONG[api], status: 400 }]);
    const { status, result, err } = await run(api, mock.port, { model, args: ["Too long."] });
    assert.notEqual(status, 0, err);
    assert.equal(result.end, "full");
    assert.equal(requests(api, model).length, 1);
}

for (const [name, test, apis] of [
    ["a file is edited and a graph is kept", work],
    ["429, 500, malformed arguments, an unknown tool, and ten calls in one turn", trouble],
    ["an answer that breaks off is not asked for again", cut],
    ["a refusal is an end of its own", refusal, APIS.filter((api) => api !== "openai")],
    ["a context that is full is an end of its own", full],
])
    await report("runs", (apis ?? APIS).map((api) => [`aimock: ${api}: ${name}`, () => test(api)]));
await mock.stop();
