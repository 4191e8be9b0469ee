// server.mjs - starts a server of this folder: the port it prints, and how it is ended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";

export async function start(name, ...args) {
    const child = spawn(process.execPath, [path.join(import.meta.dirname, name), "--stdin", ...args],
        { stdio: ["pipe", "pipe", "inherit"] });
    const lines = readline.createInterface(child.stdout);
    const [port] = await Promise.race([once(lines, "line"), once(child, "exit").then(() => {
        throw new Error(`${name} did not start`);
    })]);
    return {
        port: Number(port),
        async stop() {
            child.stdin.end();
            if (child.exitCode === null)
                await once(child, "exit");
        },
    };
}
