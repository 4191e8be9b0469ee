// common.mjs - what the four APIs of script.mjs share.
//
// Each API is an object:
//   name                    as a script's "when": {"api": ..} names it
//   route(path, query)      what is asked: {kind: "ask" | "count", stream?, model?}, or undefined
//   key(headers, query)     the key that the client sent, or undefined
//   maxBytes                of a request
//   check(body, request, memory)   throws a Refusal where the real API answers with 400
//   view(body, request, memory)    the request in neutral words, see script.mjs
//   answer(turn, request, memory)  {whole, frames}: one document, and as a stream
//   count(tokens)           the document that counting returns
//   failure(status, given)  the document of an error
//   frameOfFailure(given)   the same in mid-stream
//   ping                    a frame that means nothing
//   newline                 of the stream
// A frame is {event?, data}, data being an object or text, or {comment}.
import { createHash } from "node:crypto";

// What a real API would not accept.
export class Refusal extends Error {
    constructor(message, given = {}) {
        super(message);
        this.given = { status: 400, ...given, message };
    }
}

export function refuse(message, given) {
    throw new Refusal(message, given);
}

// Of the ids that one API made up, and what it has to find again unchanged.
export class Memory {
    #n = 0;
    turns = new Map(); // by the id of each call: what was said in its turn
    signed = new Map(); // by signature: the text that it is for
    stored = new Map(); // by the id of a response: the conversation up to it

    id(prefix, digits = 12) {
        return prefix + String(++this.#n).padStart(digits, "0");
    }

    sign(prefix, text) {
        const signature = createHash("sha512").update(`${prefix} ${++this.#n} ${text}`).digest("base64");
        this.signed.set(signature, text);
        return signature;
    }
}

// Some characters each, none of them cut; an empty text has no pieces.
export function pieces(text, size) {
    const characters = [...text], out = [];
    for (let i = 0; i < characters.length; i += size)
        out.push(characters.slice(i, i + size).join(""));
    return out;
}

export const isObject = (x) => typeof x === "object" && x !== null && !Array.isArray(x);
export const isText = (x) => typeof x === "string";
export const estimate = (x) => Math.max(1, Math.ceil(JSON.stringify(x ?? "").length / 4));

// The arguments of a call as an object, or undefined.
export function parsed(text) {
    try {
        const value = JSON.parse(text || "{}");
        return isObject(value) ? value : undefined;
    } catch {
        return undefined;
    }
}

// Calls `visit` with each schema below `schema`, and the names that lead there.
export function walkSchema(schema, visit, at = []) {
    if (!isObject(schema))
        return;
    visit(schema, at);
    for (const key of ["properties", "$defs", "definitions", "patternProperties"])
        for (const [name, below] of Object.entries(isObject(schema[key]) ? schema[key] : {}))
            walkSchema(below, visit, [...at, key, name]);
    for (const key of ["items", "additionalProperties", "not"])
        walkSchema(schema[key], visit, [...at, key]);
    for (const key of ["anyOf", "oneOf", "allOf", "prefixItems"])
        if (Array.isArray(schema[key]))
            schema[key].forEach((below, i) => walkSchema(below, visit, [...at, key, String(i)]));
}

export const isBase64 = (text) =>
    isText(text) && text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);

export const bearer = (headers) => /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
