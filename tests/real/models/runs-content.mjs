// runs-content.mjs - runs of `mcplug run` with long texts, large images and documents, to
// see what arrives at the endpoint of each API:
//
//   MCPLUG_TEST_NPM=DIR node runs-content.mjs TMP
//   MCPLUG_TEST_NPM=DIR node runs-content.mjs --serve FILE
//
// TMP is an empty directory. The second form is an MCP server on standard input and output
// with a tool `document`, which returns a PDF. All else is done by the filesystem server.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { directory, report, run, server } from "./command.mjs";
import { start } from "./server.mjs";

const from = createRequire(path.join(process.env.MCPLUG_TEST_NPM, "node_modules", "x"));
const MB = 1000000, SIDE = 2000, IMAGE_BYTES = 3932160, TEXT_BYTES = 50 * MB, PEAK_KB = 64 * 1024;
// What the APIs take; the endpoint refuses more. Of OpenAI it is what images may have.
const REQUEST_BYTES = { anthropic: 32 << 20, openai: 50 * MB, "openai-chat": 50 * MB, gemini: 20 << 20 };
const SAID = "The tide turns at noon.";

// ---- what is sent ----

// One page with the words.
function makeDocument(words) {
    const stream = `BT /F 18 Tf 20 100 Td (${words}) Tj ET`, objects = [
        "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        `<</Length ${stream.length}>>\nstream\n${stream}\nendstream`, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"];
    const at = [];
    let out = "%PDF-1.4\n";
    for (const [i, object] of objects.entries()) {
        at.push(`${String(out.length).padStart(10, "0")} 00000 n \n`);
        out += `${i + 1} 0 obj\n${object}\nendobj\n`;
    }
    return `${out}xref\n0 6\n0000000000 65535 f \n${at.join("")}trailer\n<</Size 6/Root 1 0 R>>\n` +
        `startxref\n${out.length}\n%%EOF\n`;
}

// Without compression, so that it has three bytes for each pixel.
function makeImage(width, height) {
    const pixels = Buffer.alloc(width * height * 3);
    for (let y = 0, at = 0; y < height; y++)
        for (let x = 0; x < width; x++, at += 3)
            pixels.fill((x >> 6 ^ y >> 6) & 1 ? 240 : 20 + (x >> 4) % 64, at, at + 3);
    return from("sharp")(pixels, { raw: { width, height, channels: 3 } }).png({ compressionLevel: 0 }).toBuffer();
}

// ---- what arrives ----

const dataUrl = (url) => /^data:([^;]+);base64,(.*)$/s.exec(url).slice(1);

// Files and texts of a request, in order: {in: "user" or "result", mime, data} or {.., text}.
const READERS = {
    anthropic(body) {
        const read = (place) => (block) => block.type === "tool_result" ? [].concat(block.content).flatMap(read("result"))
            : block.source ? [{ in: place, as: block.type, mime: block.source.media_type, data: block.source.data }]
                : block.type === "text" ? [{ in: place, text: block.text }] : [];
        return body.messages.filter(({ role }) => role === "user").flatMap(({ content }) => content.flatMap(read("user")));
    },
    openai(body) {
        const read = (place) => (part) => {
            const [mime, data] = part.type === "input_text" ? [] : dataUrl(part.image_url ?? part.file_data);
            return data ? { in: place, as: part.type, mime, data, name: part.filename } : { in: place, text: part.text };
        };
        return body.input.flatMap((item) => item.type === "function_call_output"
            ? typeof item.output === "string" ? [{ in: "result", text: item.output }] : item.output.map(read("result"))
            : item.role === "user" ? item.content.map(read("user")) : []);
    },
    "openai-chat"(body) {
        const read = (part) => {
            const [mime, data] = part.type === "text" ? [] : dataUrl(part.image_url?.url ?? part.file.file_data);
            return data ? { in: "user", as: part.type, mime, data, name: part.file?.filename } : { in: "user", text: part.text };
        };
        return body.messages.flatMap(({ role, content }) => role === "tool" ? [{ in: "result", text: content }]
            : role === "user" ? typeof content === "string" ? [{ in: "user", text: content }] : content.map(read) : []);
    },
    gemini(body) {
        const read = (part) => part.functionResponse
            ? [{ in: "result", text: Object.values(part.functionResponse.response).join("") },
                ...(part.functionResponse.parts ?? []).flatMap(read).map((file) => ({ ...file, in: "result" }))]
            : part.inlineData ? [{ in: "user", as: "inlineData", mime: part.inlineData.mimeType, data: part.inlineData.data }]
                : part.text !== undefined ? [{ in: "user", text: part.text }] : [];
        return body.contents.filter(({ role }) => role === "user").flatMap(({ parts }) => parts.flatMap(read));
    },
};
const AS = { anthropic: ["image", "document"], openai: ["input_image", "input_file"],
    "openai-chat": ["image_url", "file"], gemini: ["inlineData", "inlineData"] };
// Where files of results are. Of Gemini, models before 3 refuse them there.
const FILES_IN = { anthropic: "result", openai: "result", "openai-chat": "user", gemini: "result" };

async function isFit({ mime, data }) {
    const bytes = Buffer.from(data, "base64"), { info } = await from("sharp")(bytes).raw().toBuffer({ resolveWithObject: true });
    assert.ok(bytes.length <= IMAGE_BYTES, `an image of ${bytes.length} bytes`);
    assert.deepEqual([info.width, info.height], [SIDE, SIDE / 2]);
    assert.equal(mime, `image/${(await from("sharp")(bytes).metadata()).format}`);
}

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

// A conversation with a document in a result, as programs may have had it.
function makeThread(document) {
    const text = (said) => ({ type: "text", text: said });
    return { messages: [
        { role: "user", content: [text("Fetch it.")] },
        { role: "assistant", content: [{ type: "tool_use", id: "a1", name: "fetch", input: {} }] },
        { role: "user", content: [{ type: "tool_result", toolUseId: "a1", name: "fetch",
            content: [text("Here it is."), { type: "document", mimeType: "application/pdf", data: document }] }] },
        { role: "assistant", content: [text("I read it.")] },
    ] };
}

function isDocument(api, item, files) {
    assert.deepEqual([item.as, item.mime], [AS[api][1], "application/pdf"]);
    assert.equal(digest(Buffer.from(item.data, "base64")), digest(fs.readFileSync(files.document)));
}

async function checkFirst(api, items, files, place) {
    const [fetched, image, attached] = items.filter(({ data }) => data);
    assert.equal(items.filter(({ data }) => data).length, 3);
    isDocument(api, fetched, files);
    assert.equal(fetched.in, place);
    assert.ok(items.findIndex(({ text }) => text?.startsWith("Here it is.")) < items.indexOf(fetched));
    assert.equal(image.as, AS[api][0]);
    await isFit(image);
    isDocument(api, attached, files);
    if (api.startsWith("openai"))
        assert.equal(attached.name, "tides.pdf");
    assert.equal(items.at(-1).text, "Look at these.");
}

// Behind what the first request had: a text that was stored, an image, and a document that
// was saved.
async function checkLast(items, files, place) {
    const texts = items.filter((one) => one.in === "result" && one.text).map(({ text }) => text);
    const images = items.filter(({ data }) => data), stored = /^Path: (.*)$/m.exec(texts[0])?.[1];
    assert.ok(texts[0].length < 4000 && texts[0].includes("Summary: "), texts[0].slice(0, 4000));
    assert.equal(digest(fs.readFileSync(stored)), files.digest);
    const saved = /^Saved to (.*) \(\d+ bytes\)\.$/m.exec(texts.at(-1))?.[1];
    assert.match(texts.at(-1), /^\[Binary resource: .*tides\.pdf \(application\/pdf\)\]/);
    assert.equal(digest(fs.readFileSync(saved)), digest(fs.readFileSync(files.document)));
    assert.equal(images.length, 1);
    await isFit(images[0]);
    assert.equal(images[0].in, place);
    if (images[0].in === "user")
        assert.ok(items.indexOf(images[0]) > items.findLastIndex((one) => one.in === "result"));
}

async function contents(api, tmp, files, model = "m", place = FILES_IN[api]) {
    const dir = directory(tmp, `${api}-${model}`), script = path.join(dir, "script.json"), journal = path.join(dir, "journal");
    const call = (name, args) => ({ name: `mcp__${name}`, arguments: args });
    fs.writeFileSync(script, JSON.stringify([
        { calls: [call("files__read_text_file", { path: files.text }), call("files__read_media_file", { path: files.image }),
            call("documents__document", {})] },
        // slowly, so that it lives when what it needed is read
        { text: "All of it was seen.", fault: { pace: 20 } }]));
    const player = await start("script.mjs", script, journal);
    const { status, result, err, peak } = await run(api, player.port, { model, home: dir, peak: true,
        args: ["--resume", files.thread, `@${files.image}`, `@${files.document}`, "Look at these."],
        servers: { files: server("server-filesystem", [path.dirname(files.text)]),
            documents: { command: process.execPath, args: [import.meta.filename, "--serve", files.document] } } });
    await player.stop();
    const requests = fs.readFileSync(journal, "utf8").trim().split("\n").map((line) => JSON.parse(line))
        .filter(({ api: asked }) => asked);
    assert.equal(status, 0, err);
    assert.equal(result.text, "All of it was seen.");
    assert.deepEqual(requests.map(({ refused }) => refused), [undefined, undefined]);
    for (const { headers } of requests)
        assert.ok(Number(headers["content-length"]) <= REQUEST_BYTES[api], headers["content-length"]);
    const [first, last] = requests.map(({ body }) => READERS[api](body));
    await checkFirst(api, first, files, place);
    await checkLast(last.slice(first.length), files, place);
    assert.ok(peak > 0 && peak < PEAK_KB, `${peak} kB`);
    return `${Math.round(peak / 1024)} MB of memory`;
}

// Each of the images is within what the API takes, and all of them are not.
async function tooLarge(api, tmp, files) {
    const dir = directory(tmp, `${api}-too-large`), script = path.join(dir, "script.json");
    fs.writeFileSync(script, JSON.stringify({ bytes: 8 << 20, turns: [
        { calls: [{ name: "mcp__files__read_media_file", arguments: { path: files.fit }, times: 2 }] },
        { text: "Never said." }] }));
    const player = await start("script.mjs", script);
    const { status, result, err } = await run(api, player.port, { model: "m", home: dir, args: ["Look."],
        servers: { files: server("server-filesystem", [path.dirname(files.fit)]) } });
    await player.stop();
    assert.equal(status, 8, err);
    assert.deepEqual([result.end, result.calls], ["full", 2]);
    assert.match(err, /maximum size: 8388608 bytes/);
}

function serve(file) {
    const { McpServer } = from("@modelcontextprotocol/server");
    const { serveStdio } = from("@modelcontextprotocol/server/stdio");
    const blob = fs.readFileSync(file, "base64"), uri = pathToFileURL(file).href;
    serveStdio(() => {
        const one = new McpServer({ name: "documents", version: "1" });
        one.registerTool("document", { annotations: { readOnlyHint: true } }, () =>
            ({ content: [{ type: "resource", resource: { uri, mimeType: "application/pdf", blob } }] }));
        return one;
    });
}

async function main(tmp) {
    const dir = directory(tmp, "files");
    const files = { text: path.join(dir, "long.txt"), image: path.join(dir, "large.png"),
        fit: path.join(dir, "fit.png"), document: path.join(dir, "tides.pdf"),
        thread: path.join(dir, "thread.json") };
    let text = "";
    for (let i = 0; text.length < TEXT_BYTES; i++)
        text += `Line ${i} of a text that is long.\n`;
    fs.writeFileSync(files.text, text);
    fs.writeFileSync(files.image, await makeImage(2600, 1300)); // too many pixels and bytes
    fs.writeFileSync(files.fit, await makeImage(1200, 1000));
    fs.writeFileSync(files.document, makeDocument(SAID));
    fs.writeFileSync(files.thread, JSON.stringify(makeThread(fs.readFileSync(files.document, "base64"))));
    files.digest = digest(text);
    const name = "a text of 50 MB, large images and documents arrive in fit form", old = "gemini-2.5-flash";
    await report("runs", [...Object.keys(READERS).map((api) => [`${api}: ${name}`, () => contents(api, tmp, files)]),
        [`${old}: ${name}`, () => contents("gemini", tmp, files, old, "user")]]);
    await report("runs", Object.keys(READERS).map((api) =>
        [`${api}: a request that is too large is an end of its own`, () => tooLarge(api, tmp, files)]));
}

if (process.argv[2] === "--serve")
    serve(process.argv[3]);
else
    await main(process.argv[2]);
