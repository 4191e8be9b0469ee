// fleet-tools.mjs - what the tools of many servers cost a model in tokens, and whether it
// finds the right ones; for fleet.sh.
//
//   node fleet-tools.mjs BUILD NPM [--queries] [--all]
//
// The servers of the user's configuration have been listed before: their tools are known.
// `mcplug run` asks a model that is played by tests/real/models/script.mjs: with room for
// all definitions; as it is by default, with a search; and once more after twelve tools
// have been called, which are then among the most used. What was sent is counted with two
// tokenizers, beside our own estimate. No definition may change or move on the way, or it
// would have to be paid for again: each request has that of the one before it, byte for
// byte, and more behind it. Then the model searches for each
// query of tool-search.json; one of the tools behind it has to be among the first five.
// Queries for servers that are not configured are left out. --queries: only these. --all:
// prints what was found for every query. Exit: 0, or 1 when fewer than 19 in 20 queries
// are answered.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { start } from "../tests/real/models/server.mjs";

const [build, npm, ...flags] = process.argv.slice(2);
const mcplug = path.join(build, "mcplug"), tokens = path.join(build, "tests/real/tokens");
const from = createRequire(path.join(npm, "node_modules", "x"));
const { encode } = from("gpt-tokenizer/encoding/o200k_base");
const { default: llama3 } = await import(pathToFileURL(from.resolve("llama3-tokenizer-js")));
const tmp = fs.mkdtempSync(path.join(os.tmpdir(), "tools-"));
process.on("exit", () => fs.rmSync(tmp, { recursive: true }));

// ---- runs ----

const known = JSON.parse(execFileSync(mcplug, ["tools", "--json"],
    { encoding: "utf8", maxBuffer: 1 << 28 }));
const servers = [...new Set(known.map(({ server }) => server))];

// Plays the turns, and returns what the model was sent: the requests.
async function run(turns, ...args) {
    const script = path.join(tmp, "script.json"), journal = path.join(tmp, "journal");
    fs.rmSync(journal, { force: true });
    fs.writeFileSync(script, JSON.stringify(turns));
    const model = await start("script.mjs", script, journal);
    const child = spawn(mcplug, ["run", "-q", "-m", "anthropic/test", "--set",
        `url=http://127.0.0.1:${model.port}`, ...servers.flatMap((name) => ["--server", name]),
        ...args, "Go."], { stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, ANTHROPIC_API_KEY: "none" } });
    let said = "";
    child.stderr.on("data", (data) => { said += data; });
    const [code] = await once(child, "close");
    await model.stop();
    if (code !== 0)
        throw new Error(`mcplug run: exit code ${code}: ${said.slice(-500)}`);
    return fs.readFileSync(journal, "utf8").trim().split("\n").map((line) => JSON.parse(line))
        .filter(({ body }) => body).map(({ body }) => body);
}

const search = (query, limit) => ({ name: "search_tools", arguments: { query, limit } });

// ---- tokens ----

const rows = [["", "tools", "bytes", "estimate", "o200k", "llama3"]];
function count(what, request) {
    const text = JSON.stringify(request.tools), file = path.join(tmp, "tools.json");
    fs.writeFileSync(file, text);
    rows.push([what, request.tools.length, Buffer.byteLength(text),
        Number(execFileSync(tokens, [file], { encoding: "utf8" })), encode(text).length,
        llama3.encode(text, { bos: false, eos: false }).length]);
}

async function weigh() {
    const [all] = await run([{ text: "Done." }], "--tool-budget", "100000000");
    const searched = await run([{ calls: [search("read a file")] }, { text: "Done." }]);
    count("all definitions", all);
    count("first request", searched[0]);
    count('after search_tools("read a file")', searched[1]);

    // Arguments do not matter: a call that fails is one. Only tools that read are used.
    const few = known.filter(({ tool }) => tool.annotations?.readOnlyHint).filter((_, i) => i % 8 === 0)
        .slice(0, 12);
    for (const { server, tool } of few)
        spawnSync(mcplug, ["call", "-q", "--timeout", "20s", server, tool.name, "--args", "{}"],
            { stdio: "ignore" });
    const used = await run([{ calls: [search("read a file")] }, { calls: [search("draw a pie chart")] },
        { text: "Done." }]);
    count(`first request, ${few.length} tools were called before`, used[0]);
    count('after two searches', used[2]);
    // The mark of what to cache is behind the last one.
    const definitions = ({ tools }) => JSON.stringify(tools.map(({ cache_control, ...tool }) => tool));
    for (const requests of [searched, used])
        requests.slice(1).forEach((request, i) => {
            if (!definitions(request).startsWith(definitions(requests[i]).slice(0, -1)))
                throw new Error(`definitions of request ${i + 1} are not those of request ${i + 2}`);
        });

    console.log(`\nTools for a model: ${known.length} of ${servers.length} servers, ` +
        "contextTokens 200000, a budget of 20000");
    for (const row of rows)
        console.log(row.map((cell, i) => (i ? String(cell).padStart(9) : cell.padEnd(48))).join(""));
}
if (!flags.includes("--queries"))
    await weigh();

// ---- queries ----

const table = JSON.parse(fs.readFileSync(new URL("tool-search.json", import.meta.url), "utf8"))
    .map(([query, ...wanted]) => ({ query,
        wanted: wanted.filter((name) => servers.includes(name.split("/")[0])) }))
    .filter(({ wanted }) => wanted.length);
const [, asked] = await run([{ calls: table.map(({ query }) => search(query, 5)) },
    { text: "Done." }], "--tool-budget", "1");
const answers = asked.messages.at(-1).content.map(({ content }) =>
    (typeof content === "string" ? content : content.map(({ text }) => text).join("\n"))
        .split("\n").map((line) => line.slice(0, line.indexOf(":"))));
const plain = (name) => name.replaceAll(/[^a-zA-Z0-9]/g, "_");
let first = 0, found = 0;
table.forEach(({ query, wanted }, i) => {
    const names = wanted.map((name) => {
        const [server, tool] = name.split("/");
        return `mcp__${plain(server)}__${plain(tool)}`;
    });
    const at = answers[i].map(plain).findIndex((name) => names.includes(name));
    first += at === 0;
    found += at >= 0;
    if (at < 0 || flags.includes("--all"))
        console.log(`${at < 0 ? "not found" : `found ${at + 1}.`}: "${query}": ${answers[i].join(" ")}`);
});
console.log(`search_tools: ${table.length} queries, the right tool is the first for ${first}, ` +
    `among the first five for ${found}`);
process.exitCode = found >= table.length * 0.95 ? 0 : 1;
