// aimock-check.mjs - the official SDKs against aimock, to show what it answers:
//
//   MCPLUG_TEST_NPM=DIR node aimock-check.mjs
//
// Prints a line PASS or FAIL for each API. What aimock does otherwise than the API does is
// in the table below; when this fails after an update, it may have got better.
import assert from "node:assert/strict";
import { drivers } from "./drivers.mjs";
import { start } from "./server.mjs";

// Gemini has no such reason to stop, and gives calls ids.
const DIFFERS = { gemini: { stop: "FUNCTION_CALL", ids: 0 } };
const STOPS = { anthropic: "tool_use", openai: "completed", "openai-chat": "tool_calls" };

async function converse(api, begin) {
    const driver = begin(), first = await driver.ask("What is 2 + 3, and what time is it?");
    if (first.error)
        throw first.error;
    assert.equal(first.text, "Let me add.");
    assert.deepEqual(first.calls.map(({ name, arguments: it }) =>
        [name, typeof it === "string" ? JSON.parse(it) : it]), [["add", { a: 2, b: 3 }], ["now", {}]]);
    assert.equal(new Set(first.calls.map(({ id }) => id).filter(Boolean)).size, DIFFERS[api]?.ids ?? 2);
    assert.equal(first.stop, DIFFERS[api]?.stop ?? STOPS[api]);
    assert.deepEqual([first.usage.input, first.usage.output], [120, 30]);
    const second = await driver.give(first.calls.map(({ id, name }) =>
        ({ id, name, text: name === "add" ? "5" : "noon" })));
    if (second.error)
        throw second.error;
    assert.equal(second.text, "The sum is 5.");

    assert.equal((await begin().ask("You ask too often")).error?.status, 429);
    assert.equal((await begin().ask("Please fall over")).error?.status, 500);
    assert.ok((await begin().ask("Please break off")).error);
    assert.equal((await begin().ask("Of this it knows nothing")).error?.status, 503);
    if (api !== "openai-chat")
        assert.equal(await driver.count().catch((error) => error.status), 404);
}

const server = await start("aimock.mjs");
for (const [api, Driver] of Object.entries(drivers))
    try {
        // It has no v1 of Gemini.
        await converse(api, () => new Driver(server.port, { geminiVersion: "v1beta" }));
        console.log(`PASS: models-sdk: ${api}: aimock answers as well`);
    } catch (error) {
        console.log(`FAIL: models-sdk: ${api}: aimock answers as well (${error.message.replace(/\s+/g, " ")})`);
    }
await server.stop();
