// gemini.mjs - Gemini's generateContent, as script.mjs plays it.
import { estimate, isBase64, isObject, isText, parsed, pieces, refuse, walkSchema } from "./common.mjs";

const KNOWN = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
    "cachedContent", "labels", "serviceTier", "store", "continuationToken", "model"];
const DECLARATION = ["name", "description", "parameters", "parametersJsonSchema", "response",
    "responseJsonSchema", "behavior"];
// What `parameters` may have, which is no JSON Schema.
const SCHEMA = ["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems",
    "properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern",
    "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum"];
const DATA = ["text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode",
    "codeExecutionResult", "toolCall", "toolResponse"];
const PART = [...DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];
// What may stand for a signature where another model called.
const STAND_INS = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

// ---- requests that are refused ----

function known(object, names, at) {
    for (const name of Object.keys(object))
        if (!names.includes(name))
            refuse(`Invalid JSON payload received. Unknown name "${name}"${at ? ` at '${at}'` : ""}: ` +
                "Cannot find field.");
}

function checkPart(part, at) {
    if (!isObject(part))
        refuse(`Invalid value at '${at}'`);
    known(part, PART, at);
    if (DATA.filter((name) => name in part).length !== 1)
        refuse(`* GenerateContentRequest.${at}.data: required oneof field 'data' must have one ` +
            "initialized field");
    if (part.functionCall && part.functionCall.args !== undefined && !isObject(part.functionCall.args))
        refuse(`Invalid value at '${at}.function_call.args' (type.googleapis.com/google.protobuf.Struct)`);
    const response = part.functionResponse;
    if (response && !isObject(response.response))
        refuse(`Invalid value at '${at}.function_response.response' ` +
            "(type.googleapis.com/google.protobuf.Struct)");
    for (const inline of [part, ...(response?.parts ?? [])].map((x) => x.inlineData))
        if (inline && (!isText(inline.mimeType) || !isBase64(inline.data)))
            refuse(`Invalid value at '${at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed`);
}

// One content for each turn: a turn may come in several, as it was streamed.
function turnsOf(contents) {
    const turns = [];
    for (const { role = "user", parts } of contents)
        if (turns.at(-1)?.role === role)
            turns.at(-1).parts.push(...parts);
        else
            turns.push({ role, parts: [...parts] });
    return turns;
}

const partsOf = (content, key) => (content?.parts ?? []).filter((part) => part[key]).map((part) => part[key]);

function checkTurns(contents) {
    contents.forEach((content, i) => {
        const calls = partsOf(content, "functionCall"), answers = partsOf(content, "functionResponse");
        const before = contents[i - 1], asked = partsOf(before, "functionCall");
        if (calls.length && !before)
            refuse("Please ensure that function call turn comes immediately after a user turn or after a " +
                "function response turn.");
        if (answers.length && !asked.length)
            refuse("Please ensure that function response turn comes immediately after a function call turn.");
        if (asked.length && asked.length !== answers.length)
            refuse("Please ensure that the number of function response parts is equal to the number of " +
                "function call parts of the function call turn.");
        const names = (list) => list.map((x) => x.name).sort().join();
        const ids = (list) => list.map((x) => x.id).filter(Boolean).sort().join();
        if (asked.length && (names(asked) !== names(answers) || (ids(asked) && ids(answers) &&
            ids(asked) !== ids(answers))))
            refuse("Please ensure that the function response names and ids are those of the function call " +
                "turn.");
    });
    if (partsOf(contents.at(-1), "functionCall").length)
        refuse("Please ensure that the number of function response parts is equal to the number of " +
            "function call parts of the function call turn.");
}

// The first call of each step since the user last spoke has its signature.
function checkSignatures(contents, model, memory) {
    const version = /gemini-(\d+)/.exec(model)?.[1];
    const from = contents.findLastIndex((c) => c.role !== "model" && !partsOf(c, "functionResponse").length);
    contents.forEach((content, i) => {
        content.parts.forEach((part, j) => {
            const sign = part.thoughtSignature;
            if (sign && !STAND_INS.includes(sign) && !memory.signed.has(sign))
                refuse("Thought signature is not valid.");
            const turn = part.functionCall && memory.turns.get(part.functionCall.id);
            const own = turn?.find((x) => x.functionCall?.id === part.functionCall.id)?.thoughtSignature;
            const first = content.parts.findIndex((x) => x.functionCall) === j;
            if (i > from && first && !sign && version !== "1" && version !== "2")
                refuse(`Function call is missing a thought_signature in functionCall parts. This is ` +
                    "required for tools to work correctly, and missing thought_signature may lead to " +
                    `degraded model performance. Additional data, function call \`default_api:` +
                    `${part.functionCall.name}\`, position ${j + 1}.`);
            if (own && sign && own !== sign && !STAND_INS.includes(sign))
                refuse("Thought signature is not valid.");
        });
    });
}

function checkDeclaration(it, at) {
    known(it, DECLARATION, at);
    if (!isText(it.name) || !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(it.name))
        refuse(`* GenerateContentRequest.${at}.name: [FIELD_INVALID] Invalid function name. Must start with ` +
            "a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), " +
            "colons (:), or dashes (-), with a maximum length of 128.");
    if (it.parameters && it.parametersJsonSchema)
        refuse(`* GenerateContentRequest.${at}: only one of parameters and parameters_json_schema may be set`);
    walkSchema(it.parameters, (schema, names) => {
        const where = [`${at}.parameters`, ...names].join(".");
        known(schema, SCHEMA, where);
        if (/^array$/i.test(schema.type) && !schema.items)
            refuse(`* GenerateContentRequest.${where}.items: missing field.`);
    });
    const root = it.parameters ?? it.parametersJsonSchema;
    if (root && !/^object$/i.test(root.type))
        refuse(`* GenerateContentRequest.${at}.parameters: parameters schema should be of type OBJECT.`);
    walkSchema(root, (schema) => {
        for (const name of Object.keys(schema.properties ?? {}))
            if (name.length > 64)
                refuse(`* GenerateContentRequest.${at}.parameters.properties: property name is too ` +
                    `long: ${name}`);
    });
}

function checkTools(tools) {
    const names = new Set();
    tools.forEach((tool, i) => (tool.functionDeclarations ?? []).forEach((it, j) => {
        checkDeclaration(it, `tools[${i}].function_declarations[${j}]`);
        if (names.has(it.name))
            refuse(`Duplicate function declaration found: ${it.name}`);
        names.add(it.name);
    }));
}

// Of what counting gets, the request that it is about.
function requestOf(body, request) {
    return request.kind === "count" && body.generateContentRequest || body;
}

function check(body, request, memory) {
    if (request.kind === "count") {
        known(body, ["contents", "generateContentRequest"], "");
        if (body.generateContentRequest && body.contents)
            refuse("Only one of contents and generate_content_request may be set.");
        if (body.generateContentRequest && body.generateContentRequest.model !== `models/${request.model}`)
            refuse("* CountTokensRequest.generate_content_request.model: model is not specified, or is not " +
                "that of the request");
    }
    const asked = requestOf(body, request), contents = asked.contents;
    known(asked, KNOWN, "");
    if (!Array.isArray(contents) || !contents.length)
        refuse("* GenerateContentRequest.contents: contents is not specified");
    contents.forEach((content, i) => {
        known(content, ["role", "parts"], `contents[${i}]`);
        if (content.role !== undefined && content.role !== "user" && content.role !== "model")
            refuse("Please use a valid role: user, model.");
        if (!content.parts?.length)
            refuse(`* GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.`);
        content.parts.forEach((part, j) => checkPart(part, `contents[${i}].parts[${j}]`));
    });
    (asked.systemInstruction?.parts ?? []).forEach((part, j) =>
        checkPart(part, `system_instruction.parts[${j}]`));
    const turns = turnsOf(contents);
    checkTurns(turns);
    checkSignatures(turns, request.model, memory);
    checkTools(asked.tools ?? []);
}

// ---- neutral words ----

const textOf = (content) => (content?.parts ?? []).map((part) => part.text ??
    (part.functionResponse ? outputOf(part.functionResponse) : "")).filter(Boolean).join("\n");
const outputOf = ({ response }) => {
    const it = response.output ?? response.error ?? response.result ?? response;
    return isText(it) ? it : JSON.stringify(it);
};

function view(body, request) {
    const asked = requestOf(body, request), turns = turnsOf(asked.contents), last = turns.at(-1);
    return {
        model: request.model,
        system: textOf(asked.systemInstruction),
        tools: (asked.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((it) => it.name),
        assistant: turns.filter((turn) => turn.role === "model").length,
        last: textOf(last),
        results: partsOf(last, "functionResponse").map((it) => ({ id: it.id, name: it.name,
            text: outputOf(it), error: "error" in it.response })),
    };
}

// ---- answers ----

const FINISH = { end: "STOP", tools: "STOP", length: "MAX_TOKENS", refused: "SAFETY", full: "MAX_TOKENS",
    paused: "STOP", sequence: "STOP" };

// The parts that a stream has for one part of the turn. Of parallel calls the first is signed.
function partsFor(part, turn, memory, isFirst) {
    const size = turn.piece;
    if (part.thought !== undefined)
        return pieces(part.thought, size).map((text) => ({ text, thought: true }));
    if (part.call) {
        const { name, id, arguments: text } = part.call;
        const call = turn.quirks.has("no-id") ? {} : { id: id ?? memory.id("fc", 8) };
        const sign = isFirst && !turn.quirks.has("no-signature")
            ? { thoughtSignature: memory.sign("call", name) } : {};
        return [{ functionCall: { ...call, name, args: parsed(text) }, ...sign }];
    }
    return pieces(part.text, size).map((text) => ({ text }));
}

function answer(turn, request, memory) {
    const use = turn.usage, calls = turn.parts.filter((part) => part.call);
    const responseId = memory.id("script-"), modelVersion = request.model;
    const usage = {
        promptTokenCount: use.input,
        candidatesTokenCount: use.output - use.thoughts,
        totalTokenCount: use.input + use.output,
        ...(use.cached ? { cachedContentTokenCount: use.cached } : {}),
        promptTokensDetails: [{ modality: "TEXT", tokenCount: use.input }],
        ...(use.thoughts ? { thoughtsTokenCount: use.thoughts } : {}),
    };
    const chunk = (said) => ({ ...said, usageMetadata: usage, modelVersion, responseId });
    const only = (document) => ({ whole: document, frames: [{ data: document }] });

    if (turn.stop === "filter")
        return only(chunk({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }));
    const broken = calls.find((part) => !parsed(part.call.arguments));
    if (broken)
        return only(chunk({ candidates: [{ content: { role: "model" }, finishReason: "MALFORMED_FUNCTION_CALL",
            index: 0, finishMessage: `Malformed function call: print(default_api.${broken.call.name}(` +
            `${broken.call.arguments}))` }] }));

    const parts = turn.parts.filter((part) => part.redacted === undefined)
        .flatMap((part) => partsFor(part, turn, memory, part === calls[0]));
    // Without calls the signature may come last, with an empty text.
    if (!calls.length && turn.parts.some((part) => part.thought) && turn.stop === "end")
        parts.push({ text: "", thoughtSignature: memory.sign("text", "") });
    for (const part of parts)
        if (part.functionCall?.id)
            memory.turns.set(part.functionCall.id, parts);
    const finishReason = FINISH[turn.stop] ?? turn.stop;
    if (!parts.length)
        return only(chunk({ candidates: [{ content: { role: "model" }, finishReason, index: 0 }] }));
    const frames = parts.map((part, i) => chunk({ candidates: [{
        content: { parts: [part], role: "model" },
        ...(i === parts.length - 1 ? { finishReason } : {}),
        index: 0,
    }] }));
    // The whole has texts joined.
    const joined = [];
    for (const part of parts) {
        const last = joined.at(-1);
        if (last?.text !== undefined && part.text && last.thought === part.thought)
            last.text += part.text;
        else
            joined.push({ ...part });
    }
    return {
        whole: chunk({ candidates: [{ content: { parts: joined, role: "model" }, finishReason, index: 0 }] }),
        frames: frames.map((data) => ({ data })),
    };
}

const STATUS = { 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED" };
const WORDS = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry or report in " +
        "https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
};

// When to ask again is in the document, no header.
function failure(status, given) {
    const seconds = given.retry_after_ms !== undefined ? given.retry_after_ms / 1000 : given.retry_after;
    const details = [];
    if (seconds !== undefined)
        details.push({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` });
    if (given.reason)
        details.push({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: given.reason,
            domain: "googleapis.com" });
    return { error: { code: status, message: given.message ?? WORDS[status] ?? "Error",
        status: given.type ?? STATUS[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
        ...(details.length ? { details } : {}) } };
}

export const gemini = {
    name: "gemini",
    maxBytes: 20 << 20,
    overloaded: 503,
    newline: "\r\n",
    idHeader: "x-gemini-request-id",
    retryInBody: true,
    ping: { comment: "ping" },
    tooLong: (tokens, most) => ({ status: 400, message: `The input token count (${tokens}) exceeds ` +
        `the maximum number of tokens allowed (${most}).` }),
    wrongKey: { status: 400, reason: "API_KEY_INVALID",
        message: "API key not valid. Please pass a valid API key." },
    noKey: { status: 403, message: "Method doesn't allow unregistered callers (callers without established " +
        "identity). Please use API Key or other form of API consumer identity to call this API." },
    route(path, query) {
        const found = /\/v1(?:beta|alpha)?\/models\/([^/:]+):(\w+)$/.exec(path);
        const stream = { generateContent: false, streamGenerateContent: true }[found?.[2]];
        if (found?.[2] === "countTokens")
            return { kind: "count", model: found[1] };
        return stream === undefined ? undefined
            : { kind: "ask", model: found[1], stream, array: stream && query.get("alt") !== "sse" };
    },
    streams: (request) => request.stream,
    key: (headers, query) => headers["x-goog-api-key"] ?? query.get("key") ?? undefined,
    check, view, answer, failure,
    count: (totalTokens) => ({ totalTokens,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: totalTokens }] }),
    tokensOf: (body, request) => estimate(requestOf(body, request)),
    frameOfFailure: (given) => ({ data: failure(given.status ?? 503, given) }),
};
