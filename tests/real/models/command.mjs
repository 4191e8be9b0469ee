// command.mjs - what the programs share that run `mcplug run`: each has its own directory,
// and reports its tests with a line PASS or FAIL.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";

const npm = path.join(process.env.MCPLUG_TEST_NPM, "node_modules");

// How to start a server of @modelcontextprotocol/NAME, as an entry of a configuration.
export function server(name, args = [], env = {}) {
    return { command: process.execPath, env,
        args: [path.join(npm, "@modelcontextprotocol", name, "dist", "index.js"), ...args] };
}

// The settings of the model that a request to 127.0.0.1:PORT needs.
export function endpoint(api, port) {
    return `url=http://127.0.0.1:${port}${api.startsWith("openai") ? "/v1" : ""}`;
}

function peakOf(pid) {
    try {
        return Number(/^VmHWM:\s*(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) || undefined;
    } catch {
        return undefined;
    }
}

// Runs the command with --json: its exit status, its lines, the last of them, and its words
// for people. With `home` it keeps everything there. `peak` asks for the kB that it had at
// most, as far as that is known when its last line has come.
export async function run(api, port, { model, servers = {}, args = [], home, peak }) {
    const words = ["run", "--json", "--yes", "-m", `${api}/${model}`,
        "--set", endpoint(api, port), "--strict-mcp-config", "--mcp-config",
        JSON.stringify({ mcpServers: servers }), ...Object.keys(servers).flatMap((name) => ["-s", name]), ...args];
    const child = spawn("mcplug", words, { stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ANTHROPIC_API_KEY: "key-1", OPENAI_API_KEY: "key-1", GEMINI_API_KEY: "key-1",
            ...(home ? { HOME: home, XDG_CACHE_HOME: path.join(home, "cache"), XDG_STATE_HOME: path.join(home, "state") } : {}) } });
    let out = "", err = "", most = 0;
    child.stdout.setEncoding("utf8").on("data", (text) => {
        out += text;
        if (peak)
            most = peakOf(child.pid) ?? most;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => (err += text));
    const [status] = await once(child, "close");
    const lines = out.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    return { status, lines, result: lines.at(-1), err, peak: most };
}

// An empty directory below `tmp`.
export function directory(tmp, ...names) {
    const dir = path.join(tmp, ...names);
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    return dir;
}

// `tests` side by side, each a name and a function, which may return what is told of it;
// lines are in their order.
export async function report(suite, tests) {
    const ends = tests.map(([, test]) => test().then((told) => ({ told }), (error) => ({ error })));
    for (const [i, [name]] of tests.entries()) {
        const { told, error } = await ends[i];
        console.log(error ? `FAIL: ${suite}: ${name} (${String(error.message).replace(/\s+/g, " ")})`
            : `PASS: ${suite}: ${name}${told ? `: ${told}` : ""}`);
    }
}
