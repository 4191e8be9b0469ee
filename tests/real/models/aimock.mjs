// aimock.mjs - @copilotkit/aimock, a server of others that plays the APIs of models.
//
//   MCPLUG_TEST_NPM=DIR node aimock.mjs [--stdin] [FIXTURES.json]
//
// Prints the port, on 127.0.0.1, and serves until it is killed; with --stdin until its
// input ends. Fixtures are {"fixtures": [{"match": .., "response": ..}]}, those of
// aimock.json unless another file is named. Each turn there is found by the last words of
// the user and whether results of tools follow them, so that it holds for each API and as
// often as it is asked.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { stdin: { type: "boolean" } },
});
const from = createRequire(path.join(process.env.MCPLUG_TEST_NPM, "node_modules", "x"));
const { LLMock } = await import(pathToFileURL(from.resolve("@copilotkit/aimock")));

const mock = new LLMock({ host: "127.0.0.1", port: 0, chunkSize: 8, strict: true, logLevel: "silent" });
mock.loadFixtureFile(positionals[0] ?? path.join(import.meta.dirname, "aimock.json"));
await mock.start();
console.log(mock.port);
if (values.stdin)
    process.stdin.resume().once("end", () => process.exit(0));
