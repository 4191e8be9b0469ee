// Our estimate of tokens against two tokenizers, over texts as tools return them:
//
//   node tokens.mjs TOKENS MCPLUG SRC TMP
//
// TOKENS is the program of tokens.c, TMP an empty directory. Prints a table, and ends with
// status 1 when the estimate is farther from the mean of the two than it may be.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [tokens, mcplug, src, tmp] = process.argv.slice(2);
const modules = path.join(process.env.MCPLUG_TEST_NPM, "node_modules");
const from = createRequire(path.join(modules, "x"));
const { encode } = from("gpt-tokenizer/encoding/o200k_base");
const { default: llama3 } = await import(pathToFileURL(from.resolve("llama3-tokenizer-js")));

const MOST = 48 * 1024; // characters of a text that are used
const MEAN_ERROR = 0.1, WORST_ERROR = 0.25;

// ---- texts ----

const read = (...name) => fs.readFileSync(path.join(...name), "utf8");
const inSource = (...names) => names.map((name) => read(src, name));
const inModules = (...names) => names.map((name) => read(modules, name));
const rowsOf = (head, rows) => [head, ...rows.map((row) => row.join(","))].join("\n");

// What the command prints of a server from npm.
function ask(args, server, ...serverArgs) {
    const script = path.join(modules, "@modelcontextprotocol", server, "dist", "index.js");
    return execFileSync(mcplug, [...args, "-q", "--", process.execPath, script, ...serverArgs],
        { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

function filesBelow(dir) {
    return fs.readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name)).sort();
}

const documents = [
    ask(["tools", "--json"], "server-everything"),
    ask(["tools", "--json"], "server-github"),
    ask(["call", "directory_tree", `path=${src}/core`], "server-filesystem", src),
    JSON.stringify(Object.entries(JSON.parse(read(src, "tests/real/package-lock.json")).packages)
        .slice(0, 150)),
    ...inModules("ajv/package.json", "zod/package.json"),
].map((text) => JSON.parse(text));

// From the middle of programs and libraries, where there is more than their headers.
const binaries = [tokens, process.execPath].map((name) => {
    const fd = fs.openSync(name), bytes = Buffer.alloc(MOST / 2);
    const at = Math.max(0, Math.floor((fs.fstatSync(fd).size - bytes.length) / 2));
    const n = fs.readSync(fd, bytes, 0, bytes.length, at);
    fs.closeSync(fd);
    return bytes.subarray(0, n);
});

const packages = Object.entries(JSON.parse(read(src, "tests/real/package-lock.json")).packages)
    .filter(([name]) => name);
const shrimp = "mcp-shrimp-task-manager/";
const classes = {
    "English prose": inSource("README.md", "HACKING", "SECURITY.md", "doc/architecture.md",
        "doc/plugins.md"),
    "source code": [...inSource("cli/main.c", "cli/base/args.c", "plugins/common/sse.c",
        "tests/python/mcplug.py", "tests/real/run.sh", "tests/real/differ.mjs"),
    ...inModules("ws/lib/receiver.js", "@modelcontextprotocol/server-filesystem/dist/lib.js")],
    "indented JSON": documents.map((document) => JSON.stringify(document, null, 2)),
    "minified JSON": documents.map((document) => JSON.stringify(document)),
    "CSV": [
        rowsOf("path,size,lines,longest", filesBelow(path.join(src, "core")).map((name) => {
            const text = read(name), lines = text.split("\n");
            return [path.relative(src, name), Buffer.byteLength(text), lines.length,
                Math.max(...lines.map((line) => line.length))];
        })),
        rowsOf("package,version,license,engine,integrity", packages.slice(0, 200)
            .map(([name, p]) => [name, p.version, p.license, `"${p.engines?.node ?? ""}"`, !!p.integrity])),
        rowsOf("offset,mean,variance,largest", Array.from({ length: 400 }, (_, i) => {
            const part = [...binaries[0].subarray(i * 48, i * 48 + 48)];
            const mean = part.reduce((a, b) => a + b, 0) / (part.length || 1);
            return [i * 48, mean.toFixed(3), part.reduce((a, b) => a + (b - mean) ** 2, 0).toFixed(2),
                Math.max(0, ...part)];
        })),
    ],
    "Base64": [binaries[0].toString("base64"),
        binaries[1].toString("base64").replace(/.{76}/g, "$&\n")],
    "Chinese": [...inSource("tests/real/texts/chinese.txt"),
        ...inModules(`${shrimp}src/prompts/templates_zh/toolsDescription/splitTasks.md`,
            `${shrimp}src/prompts/templates_zh/analyzeTask/index.md`)],
    "Japanese": inSource("tests/real/texts/japanese.txt"),
    "Arabic": inSource("tests/real/texts/arabic.txt"),
    "emoji": inSource("tests/real/texts/emoji.txt"),
};

// ---- what others say ----

const all = Object.entries(classes).flatMap(([name, texts]) =>
    texts.map((text) => ({ name, text: text.slice(0, MOST).toWellFormed() })));
all.forEach((one, i) => {
    one.file = path.join(tmp, `text-${i}`);
    fs.writeFileSync(one.file, one.text);
});
const run = (...args) => execFileSync(tokens, args, { encoding: "utf8" }).trim().split("\n").map(Number);
const estimates = run(...all.map((one) => one.file));

const cells = (row) => row.map((cell, i) => (i ? String(cell).padStart(9) : cell.padEnd(14))).join("");
const percent = (x) => `${(100 * x).toFixed(1)} %`;
console.log(cells(["tokens", "bytes", "estimate", "o200k", "llama3", "mean", "error"]));
let errors = [];
for (const name of Object.keys(classes)) {
    const sum = { bytes: 0, estimate: 0, o200k: 0, llama3: 0 };
    all.forEach((one, i) => {
        if (one.name !== name)
            return;
        sum.bytes += Buffer.byteLength(one.text);
        sum.estimate += estimates[i];
        sum.o200k += encode(one.text).length;
        sum.llama3 += llama3.encode(one.text, { bos: false, eos: false }).length;
    });
    const mean = (sum.o200k + sum.llama3) / 2, error = sum.estimate / mean - 1;
    errors.push(Math.abs(error));
    console.log(cells([name, ...Object.values(sum), Math.round(mean), percent(error)]));
}
const mean = errors.reduce((a, b) => a + b) / errors.length, worst = Math.max(...errors);
const speeds = run("--speed", ...["English prose", "source code", "Chinese"]
    .map((name) => all.find((one) => one.name === name).file));
console.log(`mean error ${percent(mean)}, worst ${percent(worst)}; GB/s of prose ${speeds[0]}, ` +
    `code ${speeds[1]}, Chinese ${speeds[2]}`);
process.exit(mean <= MEAN_ERROR && worst <= WORST_ERROR ? 0 : 1);
