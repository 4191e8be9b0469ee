// sdk.mjs - official SDKs against script.mjs, to show that it answers as the APIs do:
//
//   MCPLUG_TEST_NPM=DIR node sdk.mjs TMP
//
// TMP is an empty directory. Prints a line PASS or FAIL for each API and test.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { KEY, SYSTEM, drivers } from "./drivers.mjs";
import { start } from "./server.mjs";

const [tmp] = process.argv.slice(2);
const THOUGHT = "Two numbers: größer 😀 als null.", TEXT = "Let me \"add\" – 加法.\n";
const USAGE = { input: 120, cached: 40, to_cache: 20, output: 30, thoughts: 10 };
const TWO = [
    { thought: THOUGHT, text: TEXT, usage: USAGE,
        calls: [{ name: "add", arguments: { a: 2, b: 3 } }, { name: "now", arguments: {} }] },
    { text: "The sum is {{result}}.", usage: { input: 160, output: 8 } },
];
const call = [{ name: "add", arguments: { a: 1, b: 1 } }];

// ---- what differs ----

const STOPS = {
    anthropic: { tools: "tool_use", end: "end_turn", refused: "refusal", length: "max_tokens" },
    openai: { tools: "completed", end: "completed", refused: "completed", length: "max_output_tokens" },
    "openai-chat": { tools: "tool_calls", end: "stop", refused: "stop", length: "length" },
    gemini: { tools: "STOP", end: "STOP", refused: "SAFETY", length: "MAX_TOKENS" },
};
const OVERLOADED = { anthropic: 529, openai: 503, "openai-chat": 503, gemini: 503 };
const TOO_LONG = { anthropic: /prompt is too long/, openai: /context window/,
    "openai-chat": /maximum context length/, gemini: /exceeds the maximum number of tokens/ };
const BAD_NAME = { anthropic: /tools\.0\.custom\.name/, openai: /Invalid 'tools\[0\]\.name'/,
    "openai-chat": /Invalid 'tools\[0\]\.function\.name'/, gemini: /Invalid function name/ };
const BAD_ROOT = { anthropic: /does not support oneOf/, openai: /at the top level/,
    "openai-chat": /at the top level/ };
const NO_RESULT = { anthropic: /without `tool_result`/, openai: /No tool output found/,
    "openai-chat": /did not have response messages/, gemini: /number of function response parts/ };

// Changes what the API signed in the first turn.
const spoil = {
    anthropic: (driver) => (driver.messages[1].content[0].thinking += "!"),
    openai: (driver) => (driver.input[1].encrypted_content += "A"),
    gemini: (driver) => driver.chat.history.flatMap((content) => content.parts)
        .filter((part) => part.thoughtSignature).forEach((part) => delete part.thoughtSignature),
};
const SPOILT = { anthropic: /Invalid `signature`/, openai: /could not be verified/,
    gemini: /missing a thought_signature/ };

// ---- the tests, each of which has its turns ----

const results = (calls) => calls.map(({ id, name }) => ({ id, name, text: name === "add" ? "5" : "noon" }));
const given = (it) => typeof it === "string" ? JSON.parse(it) : it;

async function converse(api, driver) {
    const first = await driver.ask("What is 2 + 3, and what time is it?");
    if (first.error)
        throw first.error;
    assert.equal(first.text, TEXT);
    if (first.thought !== undefined)
        assert.equal(first.thought, THOUGHT);
    assert.deepEqual(first.calls.map(({ name, arguments: it }) => [name, given(it)]),
        [["add", { a: 2, b: 3 }], ["now", {}]]);
    assert.equal(new Set(first.calls.map(({ id }) => id)).size, 2);
    const { thoughts, ...usage } = USAGE;
    if (api === "gemini")
        delete usage.to_cache;
    assert.deepEqual(first.usage, usage);
    assert.equal(first.stop, STOPS[api].tools);

    const second = await driver.give(results(first.calls));
    if (second.error)
        throw second.error;
    assert.equal(second.text, "The sum is 5\nnoon.");
    assert.deepEqual(second.calls, []);
    assert.equal(second.usage.input, 160);
    assert.equal(second.usage.output, 8);
    assert.equal(second.stop, STOPS[api].end);
}

const tests = {
    "two turns with calls": { turns: TWO, run: converse },
    "two turns, byte by byte, with pings": {
        turns: TWO.map((turn) => ({ ...turn, fault: { split: true, pings: 1 } })), run: converse },
    "two turns in ASCII with other ends of lines": {
        turns: TWO.map((turn) => ({ ...turn, fault: { escape: true, newline: "\r\n" } })), run: converse },
    "status 429 is tried again": {
        turns: [{ fault: { status: 429, retry_after_ms: 5 } }, { text: "Hello." }],
        retries: 1,
        async run(api, driver) {
            assert.equal((await driver.ask("Hello?")).text, "Hello.");
        },
    },
    "errors are those of the SDK": {
        turns: [{ fault: { status: 429, retry_after: 1 } }, { fault: { overloaded: true } },
            { fault: { status: 529 } }, { fault: { status: 500 } }, { fault: { status: 400, message: "that will not do" } },
            { fault: { context: true } }],
        async run(api, driver) {
            const errors = [];
            for (let i = 0; i < 6; i++)
                errors.push((await new drivers[api](driver.port).ask("Hello?")).error);
            assert.deepEqual(errors.map((error) => error.status), [429, OVERLOADED[api], 529, 500, 400, 400]);
            assert.match(errors[4].message, /that will not do/);
            assert.match(errors[5].message, TOO_LONG[api]);
            if (api === "anthropic") {
                assert.deepEqual(errors.map((error) => error.type), ["rate_limit_error", "overloaded_error",
                    "overloaded_error", "api_error", "invalid_request_error", "invalid_request_error"]);
                assert.equal(errors[0].headers.get("retry-after"), "1");
            } else if (api === "gemini") {
                assert.match(errors[0].message, /"retryDelay":"1s"/);
            } else {
                assert.equal(errors[0].code, "rate_limit_exceeded");
                assert.equal(errors[5].code, "context_length_exceeded");
            }
        },
    },
    "an error or an end in mid-stream is an error": {
        turns: [{ text: TEXT, fault: { error: { message: "fell over", after: 3 } } },
            { text: TEXT, fault: { cut: { bytes: 300 } } }, { fault: { cut: "headers" } }],
        async run(api, driver) {
            assert.match((await driver.ask("Hello?")).error.message, /fell over/);
            assert.ok((await new drivers[api](driver.port).ask("Hello?")).error);
            assert.ok((await new drivers[api](driver.port).ask("Hello?")).error);
        },
    },
    "a refusal": {
        turns: [{ stop: "refused", explanation: "No, thank you." }, { text: "Too lo", stop: "length" }],
        async run(api, driver) {
            const answer = await driver.ask("Do harm.");
            assert.equal(answer.stop, STOPS[api].refused);
            assert.equal(answer.text, "");
            if (api !== "gemini")
                assert.equal(answer.refusal ?? answer.details.explanation, "No, thank you.");
            const long = await new drivers[api](driver.port).ask("Tell me all.");
            assert.deepEqual([long.text, long.stop], ["Too lo", STOPS[api].length]);
        },
    },
    "ten calls, one of an unknown tool, one with broken arguments": {
        turns: [{ calls: [{ ...call[0], times: 9 }, { name: "none_such", arguments: "" }] },
            { calls: [{ name: "add", arguments: '{"a": 1, "b"' }] }],
        async run(api, driver) {
            const { calls } = await driver.ask("Add.");
            assert.equal(calls.length, 10);
            assert.equal(new Set(calls.map(({ id }) => id)).size, 10);
            assert.equal(calls[9].name, "none_such");
            assert.deepEqual(given(calls[9].arguments || {}), {});
            const { calls: broken, stop } = await new drivers[api](driver.port).ask("Add.");
            if (api === "gemini")
                assert.equal(stop, "MALFORMED_FUNCTION_CALL");
            else if (api !== "anthropic")
                assert.equal(broken[0].arguments, '{"a": 1, "b"');
        },
    },
    "what the API refuses is refused": {
        turns: [{ thought: THOUGHT, calls: call }, { thought: THOUGHT, calls: call }],
        async run(api, driver) {
            const refused = async (message, change) => {
                const one = new drivers[api](driver.port);
                change(one);
                const { error } = await one.ask("Hello?");
                assert.equal(error?.status, 400);
                assert.match(error.message, message);
            };
            await refused(BAD_NAME[api], ({ tools }) => (tools[0].name = "ge t"));
            if (BAD_ROOT[api])
                await refused(BAD_ROOT[api], ({ tools }) => (tools[1].schema.anyOf = [{}]));
            assert.equal((await driver.ask("Add.")).calls.length, 1);
            assert.match((await driver.ask("Well?")).error.message, NO_RESULT[api]);
            if (spoil[api]) {
                const other = new drivers[api](driver.port);
                const { calls } = await other.ask("Add.");
                spoil[api](other);
                const { error } = await other.give(results(calls));
                assert.equal(error?.status, 400);
                assert.match(error.message, SPOILT[api]);
            }
        },
    },
    "tokens are counted": {
        turns: [],
        counts: [{ tokens: 1234 }, { tokens: 1234 }, { tokens: 1234 }],
        async run(api, driver) {
            await driver.ask("Hello?"); // refused: there is no turn
            const count = await driver.count();
            assert.equal(count, api === "openai-chat" ? undefined : 1234);
        },
    },
};

// ---- the journal ----

function checkJournal(file, api, name) {
    const text = fs.readFileSync(file, "utf8");
    assert.ok(!text.includes(KEY), "the journal has the key");
    const lines = text.trim().split("\n").map((line) => JSON.parse(line));
    const asked = lines.filter((line) => line.api === api);
    const ended = asked.map(({ n }) => lines.find((line) => line.n === n && line.end));
    assert.ok(!ended.includes(undefined), "the journal lacks the end of a request");
    if (!name.startsWith("two turns"))
        return;
    assert.deepEqual(asked.map((line) => line.refused), [undefined, undefined]);
    assert.equal(asked[1].turn, asked[0].turn + 1);
    assert.equal(asked[0].view.system, SYSTEM);
    assert.deepEqual(asked[0].view.tools, ["add", "now"]);
    assert.deepEqual(asked[1].view.results.map((result) => [result.name, result.text]),
        [["add", "5"], ["now", "noon"]]);
    assert.deepEqual(ended.map((line) => line.status), [200, 200]);
    if (api !== "openai-chat") // whose SDK leaves at [DONE], before the stream ends
        assert.deepEqual(ended.map((line) => line.end), ["done", "done"]);
}

const APIS = Object.keys(drivers);

async function runTest(name) {
    const { turns, counts, retries, run } = tests[name], base = path.join(tmp, name.replaceAll(" ", "-"));
    const wrong = new Map(), journal = `${base}.journal`;
    fs.writeFileSync(`${base}.json`, JSON.stringify({ key: KEY, counts,
        turns: APIS.flatMap((api) => turns.map((turn) => ({ ...turn, when: { api } }))) }));
    const server = await start("script.mjs", `${base}.json`, journal);
    const attempt = async (api, what) => {
        try {
            await what();
        } catch (error) {
            if (!wrong.has(api))
                wrong.set(api, error.message.replace(/\s+/g, " "));
        }
    };
    for (const api of APIS)
        await attempt(api, () => run(api, Object.assign(new drivers[api](server.port, { retries }),
            { port: server.port })));
    await server.stop();
    for (const api of APIS) {
        await attempt(api, () => checkJournal(journal, api, name));
        console.log(wrong.has(api) ? `FAIL: models-sdk: ${api}: ${name} (${wrong.get(api)})`
            : `PASS: models-sdk: ${api}: ${name}`);
    }
}

for (const name of Object.keys(tests))
    await runTest(name);
