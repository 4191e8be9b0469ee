// wire.mjs - what script.mjs does that no SDK would show:
//
//   node wire.mjs TMP
//
// TMP is an empty directory. Prints a line PASS or FAIL for each test.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { start } from "./server.mjs";

const [tmp] = process.argv.slice(2);
const tool = (more) => ({ name: "add", description: "Adds", ...more });
const schema = { type: "object", properties: { a: { type: "number" } } };

// How a request of each API is made: a text of the user, and what else there is to be said.
const APIS = {
    anthropic: {
        path: "/v1/messages", key: "x-api-key",
        body: (more = {}) => ({ model: "m", max_tokens: 99, stream: true, tools: [tool({ input_schema: schema })],
            messages: [{ role: "user", content: "Hello?" }], ...more }),
        textOf: (data) => data.delta?.text,
    },
    openai: {
        path: "/v1/responses", key: "authorization",
        body: (more = {}) => ({ model: "m", stream: true, tools: [{ type: "function", ...tool({ parameters: schema }) }],
            input: [{ role: "user", content: "Hello?" }], ...more }),
        textOf: (data) => /output_text\.delta$/.test(data.type) && data.delta,
    },
    "openai-chat": {
        path: "/v1/chat/completions", key: "authorization",
        body: (more = {}) => ({ model: "m", stream: true,
            tools: [{ type: "function", function: tool({ parameters: schema }) }],
            messages: [{ role: "user", content: "Hello?" }], ...more }),
        textOf: (data) => data.choices?.[0]?.delta.content,
    },
    gemini: {
        path: "/v1beta/models/m:streamGenerateContent?alt=sse", key: "x-goog-api-key",
        body: (more = {}) => ({ tools: [{ functionDeclarations: [tool({ parametersJsonSchema: schema })] }],
            contents: [{ role: "user", parts: [{ text: "Hello?" }] }], ...more }),
        textOf: (data) => data.candidates?.[0].content.parts?.[0].text,
    },
};
const names = Object.keys(APIS);

function send(port, api, { body = APIS[api].body(), key = "k", signal, to = APIS[api].path } = {}) {
    const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
    if (key)
        headers[APIS[api].key] = APIS[api].key === "authorization" ? `Bearer ${key}` : key;
    return fetch(`http://127.0.0.1:${port}${to}`, { method: "POST", headers, signal,
        body: typeof body === "string" ? body : JSON.stringify(body) });
}

// What came, and whether the end of it did.
async function receive(response) {
    const chunks = [];
    try {
        for await (const chunk of response.body)
            chunks.push(chunk);
    } catch (error) {
        return { bytes: Buffer.concat(chunks), error };
    }
    return { bytes: Buffer.concat(chunks) };
}

const eventsOf = (bytes) => bytes.toString().split(/(?:\r\n|\n){2}/).map((event) =>
    /^data: (.*)$/m.exec(event)?.[1]).filter(Boolean);
const textOf = (api, bytes) => eventsOf(bytes).filter((data) => data !== "[DONE]")
    .map((data) => APIS[api].textOf(JSON.parse(data)) || "").join("");

async function refused(port, api, change, message, status = 400) {
    const response = await send(port, api, typeof change === "function" ? { body: change() } : change);
    const said = await response.text();
    assert.equal(response.status, status, `${api}: ${said}`);
    assert.match(JSON.parse(said).error.message, message);
}

const long = "One text, several events.";
const use = { type: "tool_use", id: "t1", name: "add", input: {} };
const result = (id) => ({ type: "tool_result", tool_use_id: id, content: "5" });
const user = { role: "user", content: "Hello?" };
const asked = (content) => ({ role: "assistant", content: [].concat(content) });
const chatCall = { role: "assistant", content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: "{}" } }] };
const call = { type: "function_call", call_id: "c1", name: "add", arguments: "{}" };

// [API, what is changed of a good request, what is said]
const REFUSED = [
    ["anthropic", { max_tokens: undefined }, /max_tokens: Field required/],
    ["anthropic", { moods: 1 }, /moods: Extra inputs/],
    ["anthropic", { messages: [] }, /at least one message/],
    ["anthropic", { messages: [user, user] }, /roles must alternate/],
    ["anthropic", { messages: [{ role: "user", content: "" }] }, /non-empty/],
    ["anthropic", { messages: [user, asked(use)] }, /without `tool_result`/],
    ["anthropic", { messages: [user, asked(use), { role: "user", content: [{ type: "text", text: "x" }, result("t1")] }] },
        /without `tool_result`/],
    ["anthropic", { messages: [user, asked(use), { role: "user", content: [result("t1"), result("t2")] }] },
        /unexpected `tool_use_id`/],
    ["anthropic", { messages: [user, asked({ ...use, id: "a.b" }), user] }, /String should match pattern/],
    ["anthropic", { messages: [user, asked({ type: "thinking", thinking: "x", signature: "x" }), user] },
        /Invalid `signature`/],
    ["anthropic", { messages: [user, asked({ type: "text", text: "Well" })] }, /prefill/],
    ["anthropic", { tools: [tool({ input_schema: schema }), tool({ input_schema: schema })] }, /unique/],
    ["anthropic", { tools: [tool({ input_schema: {} })] }, /input_schema\.type/],
    ["anthropic", { system: Array(5).fill({ type: "text", text: "x", cache_control: { type: "ephemeral" } }) },
        /maximum of 4 blocks/],
    ["anthropic", { messages: [{ role: "user", content: [{ type: "image",
        source: { type: "base64", media_type: "image/bmp", data: "AAAA" } }] }] }, /media_type/],
    ["openai", { moods: 1 }, /Unknown parameter: 'moods'/],
    ["openai", { input: [user, call] }, /No tool output found/],
    ["openai", { input: [user, { type: "function_call_output", call_id: "c1", output: "5" }] }, /No tool call found/],
    ["openai", { input: [user, { ...call, call_id: "c".repeat(65) }] }, /maximum length 64/],
    ["openai", { input: [user, { ...call, id: "c1" }] }, /begins with 'fc'/],
    ["openai", { input: [user, { ...call, arguments: {} }] }, /expected a string/],
    ["openai", { input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }] }, /Invalid value/],
    ["openai", { input: [user, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }, user] },
        /could not be verified/],
    ["openai", { tools: Array(129).fill({ type: "function", ...tool({ parameters: schema }) }) }, /maximum length 128/],
    ["openai", { tools: [{ type: "function", ...tool({ parameters: schema, strict: true }) }] }, /additionalProperties/],
    ["openai", { tools: [{ type: "function", ...tool({ parameters: { type: "object",
        properties: { a: { type: "array" } } } }) }] }, /missing items/],
    ["openai-chat", { messages: [user, chatCall] }, /did not have response messages: c1/],
    ["openai-chat", { messages: [user, { role: "tool", tool_call_id: "c1", content: "5" }] }, /preceeding/],
    ["openai-chat", { messages: [user, chatCall, { role: "tool", tool_call_id: "c1", content: [{ type: "image_url",
        image_url: { url: "data:image/png;base64,AAAA" } }] }] }, /only allowed for messages with role 'user'/],
    ["openai-chat", { messages: [{ role: "assistant", content: null }] }, /got null/],
    ["openai-chat", { tools: [] }, /empty array/],
    ["openai-chat", { stream: false, stream_options: { include_usage: true } }, /stream_options/],
    ["gemini", { moods: 1 }, /Unknown name "moods"/],
    ["gemini", { contents: [] }, /contents is not specified/],
    ["gemini", { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }, /valid role/],
    ["gemini", { contents: [{ role: "user", parts: [{}] }] }, /required oneof/],
    ["gemini", { contents: [{ role: "user", parts: [{ functionResponse: { name: "add", response: {} } }] }] },
        /immediately after a function call/],
    ["gemini", { tools: [{ functionDeclarations: [tool({ parameters: { type: "object", $ref: "#" } })] }] },
        /Unknown name "\$ref"/],
    ["gemini", { tools: [{ functionDeclarations: [tool(), tool()] }] }, /Duplicate function/],
];

const tests = {
    "faults are where the script has them": {
        turns: names.flatMap((api) => [{ end: { events: 4 } }, { cut: { bytes: 301 } }, { cut: { bytes: 301, reset: true } },
            { split: 3 }].map((fault) => ({ text: long, when: { api }, fault }))),
        async run(port) {
            for (const api of names) {
                const part = await receive(await send(port, api));
                assert.equal(part.error, undefined);
                assert.equal(eventsOf(part.bytes).length, 4);
                for (let i = 0; i < 2; i++) {
                    const cut = await receive(await send(port, api));
                    assert.ok(cut.error);
                    // A reset may overtake what was sent.
                    assert.ok(i ? cut.bytes.length <= 301 : cut.bytes.length === 301);
                }
                assert.equal(textOf(api, (await receive(await send(port, api))).bytes), long);
            }
        },
    },
    "a stream that stalls ends when the client goes": {
        turns: names.map((api) => ({ text: long, when: { api }, fault: { stall: { events: 2 } } })),
        async run(port, journal) {
            for (const api of names) {
                const abort = new AbortController(), response = await send(port, api, { signal: abort.signal });
                const reader = response.body.getReader();
                for (let bytes = Buffer.alloc(0); eventsOf(bytes).length < 2;)
                    bytes = Buffer.concat([bytes, (await reader.read()).value]);
                abort.abort();
                await assert.rejects(reader.read());
            }
            const ends = () => journal().filter((line) => line.end).map((line) => line.end);
            for (const by = Date.now() + 10000; ends().length < 4 && Date.now() < by;)
                await breathe();
            assert.deepEqual(ends(), Array(4).fill("gone"));
        },
    },
    "keys, sizes and texts that are wrong are refused": {
        script: { key: "right", bytes: 2000, context: 400 },
        turns: names.map((api) => ({ when: { api } })),
        async run(port) {
            for (const api of names) {
                const wrong = { anthropic: 401, openai: 401, "openai-chat": 401, gemini: 400 }[api];
                await refused(port, api, { key: "wrong" }, /./, wrong);
                await refused(port, api, { key: "" }, /./, wrong === 400 ? 403 : 401);
                await refused(port, api, { key: "right", body: `{"x":"${"x".repeat(2000)}"}` }, /maximum size/, 413);
                await refused(port, api, { key: "right", body: "{" }, /not valid JSON/);
                await refused(port, api, { key: "right", body: '{"x":"\\ud83d"}' }, /no low surrogate/);
                await refused(port, api, { key: "right", body: JSON.stringify(APIS[api].body())
                    .replace("Hello?", "Hello? ".repeat(230)) }, /too long|context|exceeds/);
            }
        },
    },
    "what the APIs refuse is refused": {
        turns: [{ text: "Once." }],
        async run(port) {
            for (const [api, change, message] of REFUSED)
                await refused(port, api, () => APIS[api].body(change), message);
            await refused(port, "openai", () => "[]", /expected an object/);
            assert.equal((await send(port, "gemini")).status, 200);
            await refused(port, "gemini", {}, /no turn is left/);
        },
    },
    "turns are found by what was asked": {
        turns: [{ text: "late", when: { last: "night" } }, { text: "always", times: 0, when: { api: "gemini" } },
            { text: "first" }, { text: "second: {{last}}" }],
        async run(port) {
            const ask = async (api) => textOf(api, (await receive(await send(port, api))).bytes);
            assert.equal(await ask("anthropic"), "first");
            assert.equal(await ask("gemini"), "always");
            assert.equal(await ask("openai"), "second: Hello?");
            assert.equal(await ask("gemini"), "always");
            const night = { messages: [{ role: "user", content: "Good night" }] };
            const { bytes } = await receive(await send(port, "openai-chat", { body: APIS["openai-chat"].body(night) }));
            assert.equal(textOf("openai-chat", bytes), "late");
        },
    },
    "answers that are not streamed": {
        turns: names.map((api) => ({ text: long, when: { api } })),
        async run(port) {
            for (const api of names) {
                const whole = await (await send(port, api, api === "gemini" ? { to: "/v1beta/models/m:generateContent" }
                    : { body: APIS[api].body({ stream: false }) })).json();
                assert.equal(whole.content?.[0].text ?? whole.output?.[0].content[0].text ??
                    whole.choices?.[0].message.content ?? whole.candidates[0].content.parts[0].text, long);
            }
        },
    },
    "servers that are nearly compatible": {
        script: { refuses: ["stream_options"] },
        turns: [["no-index", "no-id", "no-done"], ["name-repeated", "finish-stop"], ["arguments-object"], ["interleaved"]]
            .map((quirks) => ({ quirks, calls: [{ name: "add", arguments: { a: 12345 }, times: 2 }] })),
        async run(port) {
            const deltas = async () => {
                const data = eventsOf((await receive(await send(port, "openai-chat"))).bytes);
                const done = data.at(-1) === "[DONE]", chunks = data.slice(0, done ? -1 : undefined).map((x) => JSON.parse(x));
                return { done, finish: chunks.at(-1).choices[0].finish_reason,
                    calls: chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []) };
            };
            await refused(port, "openai-chat", () => APIS["openai-chat"].body({ stream_options: {} }), /stream_options/);
            const bare = await deltas(), again = await deltas(), object = await deltas(), mixed = await deltas();
            assert.deepEqual([bare.done, bare.calls.some((call) => "index" in call || "id" in call)], [false, false]);
            assert.deepEqual([again.finish, again.calls.every((call) => call.function.name === "add")], ["stop", true]);
            assert.deepEqual(object.calls.map((call) => call.function.arguments), [{ a: 12345 }, { a: 12345 }]);
            assert.deepEqual(mixed.calls.slice(0, 4).map((call) => call.index), [0, 1, 0, 1]);
        },
    },
};

for (const [name, { script, turns, run }] of Object.entries(tests)) {
    const base = path.join(tmp, name.replaceAll(" ", "-"));
    fs.writeFileSync(`${base}.json`, JSON.stringify({ ...script, turns }));
    const server = await start("script.mjs", `${base}.json`, `${base}.journal`);
    const journal = () => fs.readFileSync(`${base}.journal`, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    let error;
    try {
        await run(server.port, journal);
    } catch (caught) {
        error = caught;
    }
    await server.stop();
    console.log(error ? `FAIL: models-sdk: script: ${name} (${error.message.replace(/\s+/g, " ")})`
        : `PASS: models-sdk: script: ${name}`);
}
