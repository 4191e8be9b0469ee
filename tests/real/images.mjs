// The converter of images against sharp, which is libvips as npm has it:
//
//   node images.mjs IMAGES MODULE HELPERS TMP
//
// IMAGES is the program of images.c, HELPERS the directory of mcplug-worker, TMP an empty
// one. Both go down the same ladder with the same images and limits. Prints a table, and
// ends with status 1 where they take another step or come to other dimensions. Limits are
// far enough from the size of every candidate: other encoders, other bytes.
//
// With ROUNDS=n processor times are compared, the best of n rounds: ours with a worker that
// is warm, and of the module in a process of its own. It also ends with status 1 when the
// former is above 1.2 of that of sharp, for all together or for a JPEG that is only scaled.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const [images, module, helpers, tmp] = process.argv.slice(2);
const from = createRequire(path.join(process.env.MCPLUG_TEST_NPM, "node_modules", "x"));
const sharp = from("sharp");
sharp.cache(false);
sharp.concurrency(1);

const CAP = 2000, FAR = 0.1, MOST_TIME = 1.2;
const SCALED = ["photo.jpg", "wide.jpg", "turned.jpg"]; // a JPEG that needs nothing else
const UNCHANGED = "unchanged";
const ROUNDS = Number(process.env.ROUNDS ?? 0);

// ---- images ----

let seed = 1;
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;

function draw(width, height, channels, colour) {
    const pixels = Buffer.alloc(width * height * channels);
    for (let y = 0, at = 0; y < height; y++)
        for (let x = 0; x < width; x++)
            for (const value of colour(x, y))
                pixels[at++] = Math.max(0, Math.min(255, value));
    return sharp(pixels, { raw: { width, height, channels } });
}

const photo = (width, height) => draw(width, height, 3, (x, y) => {
    const grain = 24 * (random() - 0.5);
    return [128 + 100 * Math.sin(x / 97) + grain, 128 + 90 * Math.sin((x + y) / 151) + grain,
        128 + 100 * Math.cos(y / 83) + grain];
});
// Lines of what looks like text in windows.
const screenshot = (width, height, channels) => draw(width, height, channels, (x, y) => {
    const inWindow = x % 900 > 40 && y % 700 > 30;
    const ink = inWindow && y % 18 < 11 && (x * 7919 + (y / 3 | 0) * 104729) % 11 < 4;
    const colour = ink ? [30, 30, 30 + x % 5 * 40] : inWindow ? [250, 250, 245]
        : [40 + x / 20, 60, 120];
    return channels === 4 ? [...colour, inWindow ? 255 : 128] : colour;
});

function animation(width, height, n) {
    const roll = draw(width, height * n, 3, (x, y) => {
        const frame = Math.floor(y / height);
        const isIn = Math.hypot(x - 30 * frame, y % height - height / 2) < 30;
        return isIn ? [255, 0, 40] : [x % 256, y % height % 256, 30 * random()];
    });
    return roll.raw().toBuffer({ resolveWithObject: true }).then(({ data, info }) =>
        sharp(data, { raw: { width, height: info.height, channels: 3, pageHeight: height } }));
}

const delay = Array(8).fill(70);
const samples = {
    "photo.jpg": await photo(3000, 2000).jpeg({ quality: 95 }).toBuffer(),
    "photo.webp": await photo(2200, 1100).webp({ quality: 95 }).toBuffer(),
    "wide.jpg": await photo(4100, 700).jpeg().toBuffer(),
    "photo.png": await photo(360, 240).png().toBuffer(),
    "screenshot.png": await screenshot(2200, 500, 3).png().toBuffer(),
    "alpha.png": await screenshot(800, 600, 4).png().toBuffer(),
    "palette.png": await screenshot(900, 600, 3).png({ palette: true }).toBuffer(),
    "grey.png": await photo(420, 300).greyscale().png().toBuffer(),
    "deep.png": await photo(300, 240).toColourspace("rgb16").png().toBuffer(),
    "cmyk.jpg": await photo(1200, 800).toColourspace("cmyk").jpeg({ quality: 95 }).toBuffer(),
    "turned.jpg": await photo(2600, 900).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
    "animated.gif": await (await animation(240, 160, 8)).gif({ delay }).toBuffer(),
    "animated.webp": await (await animation(240, 160, 8)).webp({ delay, quality: 95 }).toBuffer(),
};

// ---- the ladder of sharp ----

const scale = (side, by) => Math.max(1, Math.round(side * by));
const inside = ([w, h], side) => [w, h].map((n) => scale(n, Math.min(1, side / w, side / h)));
const saveAs = {
    png: (image) => image.png({ palette: true, compressionLevel: 9 }),
    jpeg: (image, quality) => image.flatten({ background: "white" }).jpeg({ quality }),
    webp: (image) => image.webp({ quality: 80 }),
    gif: (image) => image.gif(),
};
const steps = [
    ...[100, 75, 50, 25].map((percent) => ({
        name: `${percent} %`, quality: 80, sizeOf: (size) => size.map((n) => scale(n, percent / 100)),
    })),
    { name: "64 colours", side: 800, format: "64" },
    { name: "jpeg 50", side: 600, format: "jpeg", quality: 50 },
    { name: "jpeg 20", side: 400, format: "jpeg", quality: 20 },
];

async function encode(input, step, [width, height], own) {
    const format = step.format ?? own;
    const animated = format === "gif" || format === "webp";
    // While it decodes, libwebp scales with a filter that blurs, and smaller files follow.
    const image = sharp(input, { animated }).rotate()
        .resize(width, height, { fit: "fill", fastShrinkOnLoad: own !== "webp" });
    if (format !== "64")
        return saveAs[format](image, step.quality).toBuffer();
    return sharp(await image.gif({ colours: 64 }).toBuffer())
        .png({ palette: true, dither: 0, compressionLevel: 9 }).toBuffer();
}

async function header(input) {
    const { format, width, height, pageHeight, orientation } = await sharp(input).metadata();
    const size = [width, pageHeight ?? height];
    return { format, size: orientation >= 5 ? size.reverse() : size };
}

// Stops at the first that fits; without a limit all of them are made, after what it is as
// it came if its size is allowed.
async function descend(input, most) {
    const { format, size } = await header(input), made = [];
    const capped = inside(size, CAP);
    if (capped[0] === size[0] && capped[1] === size[1])
        made.push({ step: UNCHANGED, size, bytes: input.length });
    if (made.length && input.length <= most)
        return made;
    for (const step of steps) {
        const to = step.side ? inside(capped, step.side) : step.sizeOf(capped);
        const bytes = (await encode(input, step, to, format)).length;
        made.push({ step: step.name, size: to, bytes });
        if (bytes <= most)
            break;
    }
    return made;
}

// ---- both ----

// Of the limits that lead to a step each, three: the first, the last, one between.
function limitsOf(made) {
    const limits = made.map(({ bytes }) => Math.round(bytes * 1.15))
        .filter((most, i) => made.findIndex(({ bytes }) => bytes <= most) === i &&
            made.every(({ bytes }) => Math.abs(bytes - most) >= FAR * most));
    return limits.filter((_, i) => [0, limits.length >> 1, limits.length - 1].includes(i));
}

// One program for each way: with a worker, and with the module in it. As in mcplug-worker,
// there is no environment.
function start(...args) {
    const child = spawn(images, [module, ...args], { env: {}, stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
        convert: async ({ file, most }) => {
            child.stdin.write(`${CAP} ${CAP} ${most} ${ROUNDS ? 1 : 0} - ${file} -\n`);
            return JSON.parse((await lines.next()).value);
        },
        end: () => child.stdin.end(),
    };
}

const warm = start(helpers), alone = start(), rows = [];
for (const [name, input] of Object.entries(samples)) {
    const file = path.join(tmp, name), made = await descend(input, 0);
    fs.writeFileSync(file, input);
    for (const most of limitsOf(made.filter(({ step }) => step !== UNCHANGED))) {
        const row = { name, file, most, ...made.find(({ bytes }) => bytes <= most) };
        row.times = [Infinity, Infinity, Infinity];
        row.ours = await warm.convert(row);
        for (let round = 0; round < ROUNDS; round++) { // in turn: the machine has moods
            const ms = [(await warm.convert(row)).ms, (await alone.convert(row)).ms];
            const before = process.cpuUsage();
            await descend(input, most);
            const { user, system } = process.cpuUsage(before);
            ms.push((user + system) / 1000);
            row.times = row.times.map((best, i) => Math.min(best, ms[i]));
        }
        rows.push(row);
    }
}
warm.end();
alone.end();

let wrong = 0, slow = 0;
const sums = [0, 0, 0];
const print = (...cells) => console.log(cells.map((cell, i) =>
    String(cell)[i ? "padStart" : "padEnd"]([15, 9, 11, 11, 11, 9, 9, 8, 8, 8, 7, 7][i])).join(""));
print("image", "limit", "step", "of sharp", "pixels", "bytes", "sharp",
    ...(ROUNDS ? ["ms", "alone", "sharp"] : []));
for (const { name, most, step, size, bytes, times, ours } of rows) {
    const same = ours.step === step && ours.width === size[0] && ours.height === size[1];
    const ratio = times[0] / times[2];
    const tooSlow = ratio > MOST_TIME && step === "100 %" && SCALED.includes(name);
    wrong += !same;
    slow += tooSlow;
    times.forEach((time, i) => { sums[i] += time; });
    print(name, most, ours.step ?? ours.error, step, `${ours.width}x${ours.height}`, ours.bytes,
        bytes, ...(ROUNDS ? [...times.map((time) => time.toFixed(0)), ratio.toFixed(2)] : []),
        same ? "" : "WRONG", tooSlow ? "SLOW" : "");
}
console.log(`${rows.length} conversions, ${wrong} differ` + (ROUNDS ? "; processor time " +
    `${(sums[0] / sums[2]).toFixed(2)} of that of sharp, ${(sums[1] / sums[2]).toFixed(2)} ` +
    `without the worker; ${slow} JPEG only scaled above ${MOST_TIME}` : ""));
process.exitCode = wrong || slow || sums[0] > sums[2] * MOST_TIME ? 1 : 0;
