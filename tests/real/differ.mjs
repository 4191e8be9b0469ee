// Our parsers against other people's, over documents that are made and then changed by
// chance:
//
//   node differ.mjs DIFFER json|url|sse|args [SEED [COUNT]]
//
// DIFFER is the program of differ.c. Ends with `N documents, N taken` and status 0, or
// says which document makes the difference. Differences that are intended are the rules
// below, each with the reason; there are no others.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import path from "node:path";

const [differ, kind, seedText, countText] = process.argv.slice(2);
const npm = process.env.MCPLUG_TEST_NPM;
const seed = seedText ? Number(seedText) : (Math.random() * 2 ** 32) >>> 0;
const from = (name) => createRequire(path.join(npm, "node_modules", "x"))(name);

// ---- chance ----

let state = seed;
function any(below) { // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
}
const oneIn = (n) => any(n) === 0;
const pick = (list) => list[any(list.length)];
const some = (most, make) => Array.from({ length: any(most + 1) }, make);

// Bytes that are taken out, doubled, replaced, or brought in from elsewhere.
function mutated(bytes, words) {
    for (let n = 1 + any(3); n > 0; n--) {
        const at = any(bytes.length + 1), len = any(4);
        const piece = oneIn(3) ? Buffer.from(pick(words), "latin1")
            : oneIn(2) ? Buffer.from([any(256)]) : bytes.subarray(at, at + len);
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + any(3))]);
    }
    return bytes;
}

function ask(documents) {
    const parts = [];
    for (const d of documents) {
        const head = Buffer.alloc(4);
        head.writeUInt32LE(d.length);
        parts.push(head, d);
    }
    const run = spawnSync(differ, [kind], { input: Buffer.concat(parts), maxBuffer: 2 ** 30 });
    if (run.status !== 0)
        throw new Error(`${differ} ended with ${run.status ?? run.signal}: ${run.stderr}`);
    const answers = [];
    for (let at = 0; at < run.stdout.length;) {
        const len = run.stdout.readUInt32LE(at);
        answers.push(run.stdout.subarray(at + 4, at + 4 + len).toString());
        at += 4 + len;
    }
    if (answers.length !== documents.length)
        throw new Error(`${documents.length} documents, ${answers.length} answers`);
    return answers;
}

// ---- json against JSON.parse ----

const json = {
    count: 60000,
    words: ["\\u", "\\ud800", "\\udc00", "\\", "\"", "{", "}", "[", "]", ":", ",", "1e5", "-",
        "0", ".", "E+", "true", "nul", "\xef\xbb\xbf", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90",
        "\xe2\x80\xa8", "\0", "\t", "\v", "\n", "//", "/**/", "NaN", "'", "__proto__", "\x7f"],
    text() {
        return JSON.stringify(some(6, () => pick(["a", "\u00e9", "\u20ac", "\u{1f600}", "\\", "\"",
            "\n", "\0", "/", "id", "\u2028"])).join(""));
    },
    number() {
        return pick(["0", "-0", "1", "-1", "1.5", "1e5", "1E-5", "12345678901234567890", "1e400",
            "0.1e+2", String(any(1e9))]);
    },
    value(depth) {
        const blank = () => pick(["", "", "", " ", "\n", "\t ", "\r\n"]);
        switch (depth > 0 ? any(7) : any(5)) {
        case 0: return this.text();
        case 1: return this.number();
        case 2: return pick(["true", "false", "null"]);
        case 3: return "[]";
        case 4: return "{}";
        case 5: return `[${blank()}${some(4, () => this.value(depth - 1)).join(blank() + "," + blank())}]`;
        default: return `{${some(4, () => this.text() + blank() + ":" + blank() +
            this.value(depth - 1)).join(",")}${blank()}}`;
        }
    },
    make() {
        const text = oneIn(40) ? "[".repeat(any(70)) + "1" + "]".repeat(any(70)) : this.value(5);
        return Buffer.from(text);
    },
    // V8 13.6 (Node 24) takes a key with escapes for one that it met behind the same keys, if
    // that one is what the first characters of the escaped form spell: after
    // {"":1,"/\\\"":1} it reads {"":1,"/\"\"":1} as the former. Such a key has a backslash, so
    // backslashes are given to it as another character.
    stroke: "\ue05c",
    parse(text) {
        if (/\ue05c|\\ue05c/i.test(text))
            return JSON.parse(text);
        return JSON.parse(text.replace(/\\(u005c|.)/gis,
            (escape, of) => of === "\\" || of.length > 1 ? this.stroke : escape));
    },
    theirs(bytes) {
        try {
            const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
            return { value: this.parse(text), text };
        } catch {
            return null;
        }
    },
    // Rule: a lone surrogate becomes U+FFFD, for what is kept is UTF-8.
    formed(v) {
        const text = (t) => t.toWellFormed().replaceAll(this.stroke, "\\");
        if (typeof v === "string")
            return text(v);
        if (Array.isArray(v))
            return v.map((x) => this.formed(x));
        if (v && typeof v === "object")
            return Object.fromEntries(Object.entries(v).map(([k, x]) => [text(k), this.formed(x)]));
        return v;
    },
    // Rule: 64 levels and no more.
    isTooDeep(text) {
        let depth = 0, most = 0, inside = false;
        for (let i = 0; i < text.length; i++) {
            if (inside && text[i] === "\\")
                i++;
            else if (text[i] === "\"")
                inside = !inside;
            else if (!inside && "[{".includes(text[i]))
                most = Math.max(most, ++depth);
            else if (!inside && "]}".includes(text[i]))
                depth--;
        }
        return most > 64;
    },
    compare(bytes, answer) {
        const theirs = this.theirs(bytes);
        // A document `null` that was taken is `null` as well.
        const taken = answer !== "null" || theirs?.value === null;
        if (!theirs)
            return taken ? "JSON.parse refuses it" : false;
        if (this.isTooDeep(theirs.text))
            return taken ? "it is too deep" : false;
        if (!taken)
            return "JSON.parse takes it";
        if (!isDeepStrictEqual(this.formed(this.parse(answer)), this.formed(theirs.value)))
            return `it is ${answer}`;
        return true;
    },
};

// ---- url against WHATWG URL and libcurl ----

const url = {
    count: 60000,
    words: ["\\", "@", ":", "//", "///", "#", "?", "%2e", "%2E%2e", "%00", "%", "[::1]", "[", "]", "\t",
        " ", "..", "/./", "/../", ":0", ":65536", ":00080", "0x7f.1", "127.1", "\xc3\xa9", "xn--", "*",
        "localhost", "<", "\"", "|", "^", "`", "{", "'", ";", "&", "=", "\x7f", "\n", "0177.1", "."],
    make() {
        const label = () => pick(["a", "b-c", "example", "X", "0", "1", "127", "localhost", "xn--a", "_d", "-"]);
        const host = pick([() => some(3, label).concat("com").join("."), () => "127.0.0.1",
            () => "[::1]", () => "[fe80::1%25eth0]", () => some(4, () => String(any(300))).join("."),
            () => label(), () => "1.2.3.4.", () => "[::ffff:1.2.3.4]"])();
        const path = some(4, () => "/" + pick(["", "a", ".", "..", "%2e", "b%20c", "d;e", "~", "+", "a.b"])).join("");
        return Buffer.from(pick(["http", "https", "ws", "wss", "HTTP", "WsS", "ftp"]) + pick(["://", "://", "://", ":/", ":"]) +
            pick(["", "", "", "", "user@", "u:p@"]) + host + pick(["", "", ":80", ":443", ":8080", ":", ":1"]) +
            path + pick(["", "", "?", "?q=1", "?a/../b", "?%zz"]) + pick(["", "", "", "#f"]));
    },
    // Rule: what a path or query may not have as it is, is sent as it was written, or
    // refused; WHATWG writes escapes. Both mean the same.
    unescaped(text) {
        return text.replace(/%(2[27]|3[CEce]|5[CEce]|60|7[BbCcDd])/g,
            (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    },
    // Rule: %2e is no dot here, as in RFC 3986; in WHATWG it is. It is left as it is, so
    // the server decides; no rule of ours is about paths.
    hasEscapedDot: (text) => /(^|\/)(\.|%2e){1,2}(?=\/|\?|$)/i.test(text) && /%2e/i.test(text),
    compare(bytes, answer) {
        if (answer === "null")
            return false; // we may refuse more
        const ours = JSON.parse(answer), text = bytes.toString();
        let w;
        try {
            w = new URL(text);
        } catch {
            return "WHATWG refuses it";
        }
        // Rule: addresses of IPv6 may have several spellings; WHATWG has the shortest.
        const host = (text) => text.includes(":") ? new URL(`http://[${text}]/`).hostname : text.toLowerCase();
        if (w.hostname !== host(ours.host))
            return `the host is ${ours.host}, for WHATWG ${w.hostname}`;
        if (w.username || w.password)
            return "it has a user, for WHATWG";
        const standard = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443" }[w.protocol];
        if ((w.port || standard) !== ours.port || w.protocol !== ours.scheme + ":")
            return `the port is ${ours.port}, for WHATWG ${w.port}`;
        const c = ours.curl;
        if (!c)
            return "libcurl refuses it";
        if (host(c.host.replace(/^\[|\]$/g, "")) !== host(ours.host) || c.user !== null)
            return `the host is ${ours.host}, for libcurl ${c.host}`;
        if ((c.port ?? standard) !== ours.port)
            return `the port is ${ours.port}, for libcurl ${c.port}`;
        // Rule: without a path there is an empty one; `?` alone is no query for others.
        const whole = (t) => t.replace(/^([^?]*)\?$/, "$1").replace(/^(?=\?|$)/, "/");
        const target = whole(ours.target);
        const curls = c.path + (c.query ? "?" + c.query : "");
        if (target !== curls)
            return `it asks for ${target}, libcurl for ${curls}`;
        const resolved = whole(ours.resolved.replace(/^[a-z]+:\/\/[^/?]*/i, ""));
        if (!this.hasEscapedDot(ours.target) &&
            this.unescaped(w.pathname + w.search) !== this.unescaped(resolved))
            return `it is resolved to ${resolved}, by WHATWG to ${w.pathname + w.search}`;
        return true;
    },
};

// ---- sse against eventsource-parser ----

const sse = {
    count: 30000,
    words: ["\n", "\r", "\r\n", "\n\n", "data", "data:", ":", "id:", "event:", "retry:", " ", "\xef\xbb\xbf", "\0"],
    make() {
        const end = pick(["\n", "\r", "\r\n"]);
        const line = () => pick([() => "data" + pick([":", ": ", ":  ", ""]) + pick(["", "x", "{\"a\":1}", "\u00e9"]),
            () => "id: " + any(5), () => "event: " + pick(["message", "a", "endpoint", ""]), () => "retry: " + any(900),
            () => ": comment", () => "unknown: x", () => "", () => ""])();
        const text = pick(["", "", "\ufeff"]) + some(12, () => line() + end).join("") + end + end;
        return Buffer.concat([Buffer.from([any(4)]), Buffer.from(text)]);
    },
    compare(bytes, answer) {
        // Rule: eventsource-parser is given text, so who decodes takes the byte order mark.
        const text = new TextDecoder("utf-8").decode(bytes.subarray(1));
        const events = [];
        const { createParser } = this.parser ??= from("eventsource-parser");
        const parser = createParser({ onEvent: (e) => events.push(e) });
        parser.feed(text);
        parser.feed(":\n"); // a CR at the end may be half of a CR LF: it waits for more
        // Rule: an event that has no data counts for its id alone and is not handed on,
        // nor is one whose data are empty.
        const ours = JSON.parse(answer).filter((e) => e.data !== "");
        const theirs = events.filter((e) => e.data !== "");
        if (ours.length !== theirs.length)
            return `there are ${ours.length} events, for eventsource-parser ${theirs.length}`;
        for (let i = 0; i < ours.length; i++) {
            // Rule: of a type 31 bytes are kept, and a NUL in it is a question mark.
            const type = (theirs[i].event ?? "").replaceAll("\0", "?").slice(0, 31);
            if (ours[i].data !== theirs[i].data || ours[i].type !== type)
                return `event ${i} is ${JSON.stringify(ours[i])}, for eventsource-parser ${JSON.stringify(theirs[i])}`;
            // Rule: the id stays for the events behind it, as the standard has it;
            // eventsource-parser leaves that to its user.
            if (theirs[i].id !== undefined && theirs[i].id !== ours[i].id)
                return `the id of event ${i} is ${ours[i].id}, for eventsource-parser ${theirs[i].id}`;
        }
        return ours.length > 0;
    },
};

// ---- typed arguments against ajv ----

const args = {
    count: 2500,
    words: [],
    names: ["a", "b", "c", "d"],
    scalar: () => pick([{ type: "string" }, { type: "integer" }, { type: "number" }, { type: "boolean" },
        { type: "null" }, { type: ["integer", "null"] }, { type: ["string", "number"] },
        { enum: ["x", "y", 1, null] }, { const: 7 }, { $ref: "#/$defs/one" }, {}]),
    schema() {
        return pick([this.scalar, this.scalar, this.scalar,
            () => ({ anyOf: [this.scalar(), this.scalar()] }),
            () => ({ allOf: [this.scalar(), {}] }),
            () => ({ type: "array", items: this.scalar() }),
            () => ({ type: "object" })])();
    },
    value: () => pick(["1", "-1", "1.5", "1e3", "12345678901234567890", "true", "false", "null", "x", "y",
        "\"x\"", "[1,2]", "[\"x\"]", "{}", "{\"k\":1}", "", " ", "0x10", "7", "[", "1 ", "é", "NaN"]),
    make() {
        const properties = Object.fromEntries(this.names.slice(0, 1 + any(4)).map((n) => [n, this.schema()]));
        const schema = { type: "object", properties, $defs: { one: this.scalar() } };
        delete schema.$defs.one.$ref;
        if (oneIn(2))
            schema.required = [pick(this.names)];
        if (oneIn(3))
            schema.additionalProperties = false;
        const words = some(4, () => `\0${pick(this.names)}\0${this.value()}`);
        return Buffer.from(JSON.stringify(schema) + words.join("") + (words.length ? "" : "\0"));
    },
    compare(bytes, answer) {
        if (answer === "null")
            return false;
        const Ajv = this.Ajv ??= from("ajv").default;
        const schema = JSON.parse(bytes.toString().split("\0")[0]);
        const ajv = new Ajv({ strict: false });
        if (!ajv.validate(schema, JSON.parse(answer)))
            return `${answer} is not valid: ${ajv.errorsText()}`;
        return true;
    },
};

// ---- the run ----

const one = { json, url, sse, args }[kind];
const count = Number(countText ?? one.count);
const documents = Array.from({ length: count }, () => {
    const made = one.make();
    if (!one.words.length || oneIn(3))
        return made;
    // what says how it is cut stays
    return kind === "sse" ? Buffer.concat([made.subarray(0, 1), mutated(made.subarray(1), one.words)])
        : mutated(made, one.words);
});
const answers = ask(documents);
let taken = 0, wrong = 0;
for (let i = 0; i < count && wrong < 10; i++) {
    const r = one.compare(documents[i], answers[i]);
    taken += r === true;
    if (typeof r === "string") {
        console.log(`${kind}: ${JSON.stringify(documents[i].toString())} (${documents[i].toString("hex")}): ${r}`);
        wrong++;
    }
}
// What takes nothing compares nothing.
if (taken < count / 20) {
    console.log(`only ${taken} of ${count} documents were taken`);
    wrong++;
}
console.log(`${count} documents, ${taken} taken; seed ${seed}`);
process.exit(wrong ? 1 : 0);
