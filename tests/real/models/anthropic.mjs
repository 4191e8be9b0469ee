// anthropic.mjs - Anthropic Messages, as script.mjs plays it.
import {
    bearer, estimate, isBase64, isObject, isText, parsed, pieces, refuse,
} from "./common.mjs";

const VERSIONS = ["2023-06-01", "2026-10-21"];
const OLD_ONLY = ["temperature", "top_p", "top_k"];
const COUNTED = ["cache_control", "messages", "model", "output_config", "speed", "system", "thinking",
    "tool_choice", "tools", "user_profile_id", "workspace_id"];
const KNOWN = [...COUNTED, "container", "diagnostics", "inference_geo", "max_tokens", "metadata",
    "service_tier", "stop_sequences", "stream"];
const TOOL = ["allowed_callers", "cache_control", "defer_loading", "description",
    "eager_input_streaming", "input_examples", "input_schema", "name", "strict", "type"];
const BLOCKS = {
    text: ["text", "cache_control", "citations"],
    image: ["source", "cache_control", "transformations"],
    document: ["source", "cache_control", "citations", "context", "title"],
    search_result: ["source", "title", "content", "cache_control", "citations"],
    tool_reference: ["tool_name", "cache_control"],
    tool_use: ["id", "name", "input", "cache_control", "caller", "toolset_name"],
    tool_result: ["tool_use_id", "content", "is_error", "cache_control", "toolset_name"],
    thinking: ["thinking", "signature"],
    redacted_thinking: ["data"],
};
const IN_RESULTS = ["text", "image", "document", "search_result", "tool_reference"];
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const quoted = (list) => `${list.slice(0, -1).map((x) => `'${x}'`).join(", ")} or '${list.at(-1)}'`;

// ---- requests that are refused ----

function known(object, names, at) {
    for (const name of Object.keys(object))
        if (!names.includes(name))
            refuse(`${at}${name}: Extra inputs are not permitted`);
}

function checkSource(block, at) {
    const source = block.source;
    if (!isObject(source))
        refuse(`${at}.source: Field required`);
    if (source.type !== "base64")
        return;
    const types = block.type === "image" ? IMAGES : ["application/pdf"];
    const where = `${at}.${block.type}.source.base64`;
    if (!types.includes(source.media_type))
        refuse(types.length === 1 ? `${where}.media_type: Input should be 'application/pdf'`
            : `${where}.media_type: Input should be ${quoted(types)}`);
    if (!isBase64(source.data))
        refuse(`${where}: invalid base64 data`);
}

function checkBlock(block, at) {
    if (!isObject(block) || !BLOCKS[block.type])
        refuse(`${at}: Input tag '${block?.type}' found using 'type' does not match any of the ` +
            `expected tags: ${Object.keys(BLOCKS).map((x) => `'${x}'`).join(", ")}`);
    const inside = `${at}.${block.type}.`;
    known(block, ["type", ...BLOCKS[block.type]], inside);
    if (block.type === "text" && !isText(block.text))
        refuse(`${inside}text: Input should be a valid string`);
    if (block.type === "text" && !block.text)
        refuse("messages: text content blocks must be non-empty");
    if (block.type === "image" || block.type === "document")
        checkSource(block, at);
    if (block.type === "tool_use") {
        if (!isText(block.id) || !/^[a-zA-Z0-9_-]+$/.test(block.id))
            refuse(`${inside}id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
        if (!isText(block.name) || !/^[a-zA-Z0-9_-]{1,200}$/.test(block.name))
            refuse(`${inside}name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`);
        if (!isObject(block.input))
            refuse(`${inside}input: Input should be a valid dictionary`);
    }
    if (block.type === "tool_result" && Array.isArray(block.content))
        block.content.forEach((part, k) => {
            if (!IN_RESULTS.includes(part?.type))
                refuse(`${inside}content.${k}: Input tag '${part?.type}' found using 'type' does ` +
                    `not match any of the expected tags: ${IN_RESULTS.map((x) => `'${x}'`).join(", ")}`);
            checkBlock(part, `${inside}content.${k}`);
        });
}

const blocksOf = (message) => isText(message?.content)
    ? [{ type: "text", text: message.content }] : message?.content ?? [];
const idsOf = (message) => blocksOf(message).filter((b) => b.type === "tool_use").map((b) => b.id);

// Each use is answered in the next message, before all else there.
function checkPairs(messages) {
    messages.forEach((message, i) => {
        const asked = message.role === "assistant" ? idsOf(message) : [];
        const next = blocksOf(messages[i + 1]);
        const first = next.findIndex((b) => b.type !== "tool_result");
        const answers = next.slice(0, first < 0 ? next.length : first).map((b) => b.tool_use_id);
        const open = asked.filter((id) => !answers.includes(id));
        if (new Set(asked).size !== asked.length)
            refuse("messages: `tool_use` ids must be unique");
        if (open.length)
            refuse(`messages.${i + 1}: \`tool_use\` ids were found without \`tool_result\` blocks ` +
                `immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a ` +
                "corresponding `tool_result` block in the next message.");
        const before = i && messages[i - 1].role === "assistant" ? idsOf(messages[i - 1]) : [];
        const seen = new Set();
        if (message.role === "user")
            blocksOf(message).forEach((block, j) => {
                if (block.type !== "tool_result")
                    return;
                if (!before.includes(block.tool_use_id))
                    refuse(`messages.${i}.content.${j}: unexpected \`tool_use_id\` found in ` +
                        `\`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must ` +
                        "have a corresponding `tool_use` block in the previous message.");
                if (seen.has(block.tool_use_id))
                    refuse(`messages.${i}.content.${j}: each tool_use must have a single result. ` +
                        `Found multiple \`tool_result\` blocks with id: ${block.tool_use_id}`);
                seen.add(block.tool_use_id);
            });
    });
}

// What was thought has to be sent back as it was: the signature says whether it is.
function checkThoughts(messages, memory) {
    const last = messages.findLastIndex((m) => m.role === "assistant");
    messages.forEach((message, i) => {
        if (message.role !== "assistant")
            return;
        const blocks = blocksOf(message);
        blocks.forEach((block, j) => {
            if (block.type === "thinking" && memory.signed.get(block.signature) !== block.thinking)
                refuse(`messages.${i}.content.${j}: Invalid \`signature\` in \`thinking\` block`);
            if (block.type === "redacted_thinking" && !memory.signed.has(block.data))
                refuse(`messages.${i}.content.${j}: Invalid \`data\` in \`redacted_thinking\` block`);
        });
        const turn = memory.turns.get(idsOf(message)[0]);
        const thoughts = (list) => JSON.stringify(list.filter((b) => /thinking$/.test(b.type))
            .map((b) => [b.type, b.thinking, b.signature, b.data]));
        if (i === last && turn && thoughts(turn) !== thoughts(blocks))
            refuse(`messages.${i}.content.0: \`thinking\` or \`redacted_thinking\` blocks in the latest ` +
                "assistant message cannot be modified. These blocks must remain as they were in " +
                "the original response.");
    });
}

function checkMessages(body, version, memory) {
    const messages = body.messages;
    if (!Array.isArray(messages))
        refuse("messages: Field required");
    const roles = version === VERSIONS[0] ? ["user", "assistant"] : ["user", "assistant", "system"];
    messages.forEach((message, i) => {
        if (!roles.includes(message?.role))
            refuse(`messages.${i}.role: Input should be ${quoted(roles)}`);
        known(message, ["role", "content"], `messages.${i}.`);
        if (!isText(message.content) && !Array.isArray(message.content))
            refuse(`messages.${i}.content: Field required`);
        if (!message.content.length)
            refuse(`messages.${i}: ${message.role} messages must have non-empty content`);
        blocksOf(message).forEach((block, j) => {
            checkBlock(block, `messages.${i}.content.${j}`);
            const own = { tool_use: "assistant", thinking: "assistant", redacted_thinking: "assistant",
                tool_result: "user", image: "user", document: "user" }[block.type];
            if (own && own !== message.role)
                refuse(`messages.${i}: \`${block.type}\` blocks can only be in \`${own}\` messages`);
        });
    });
    const turns = messages.filter((m) => m.role !== "system");
    if (!turns.length)
        refuse("messages: at least one message is required");
    if (turns[0].role !== "user")
        refuse('messages: first message must use the "user" role');
    turns.forEach((message, i) => {
        if (i && turns[i - 1].role === message.role)
            refuse('messages: roles must alternate between "user" and "assistant", but found ' +
                `multiple "${message.role}" roles in a row`);
    });
    checkPairs(turns);
    checkThoughts(turns, memory);
    if (turns.at(-1).role === "assistant" && !memory.paused)
        refuse("This model does not support assistant message prefill. The conversation must end " +
            "with a user message.");
}

function checkTools(tools) {
    if (!Array.isArray(tools))
        refuse("tools: Input should be a valid list");
    const names = new Set();
    tools.forEach((tool, i) => {
        if (tool?.type && tool.type !== "custom")
            return;
        const at = `tools.${i}.custom.`;
        known(tool, TOOL, at);
        if (!isText(tool.name) || !/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name))
            refuse(`${at}name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
        if (!isObject(tool.input_schema))
            refuse(`${at}input_schema: Field required`);
        if (tool.input_schema.type !== "object")
            refuse(tool.input_schema.type === undefined ? `${at}input_schema.type: Field required`
                : `${at}input_schema.type: Input should be 'object'`);
        if (["anyOf", "oneOf", "allOf"].some((key) => key in tool.input_schema))
            refuse(`${at}input_schema: input_schema does not support oneOf, allOf, or anyOf at the ` +
                "top level");
        if (names.has(tool.name))
            refuse("tools: Tool names must be unique.");
        names.add(tool.name);
    });
}

function checkMarks(body) {
    const text = JSON.stringify(body).match(/"cache_control":\{/g) ?? [];
    if (text.length > 4)
        refuse(`A maximum of 4 blocks with cache_control may be provided. Found ${text.length}.`);
}

function check(body, request, memory) {
    const version = request.headers["anthropic-version"];
    if (!version)
        refuse("anthropic-version: header is required");
    if (!VERSIONS.includes(version))
        refuse(`anthropic-version: "${version}" is not a valid version for this endpoint`);
    const counts = request.kind === "count", names = counts ? COUNTED : KNOWN;
    known(body, version === VERSIONS[0] ? [...names, ...OLD_ONLY] : names, "");
    if (!isText(body.model) || !body.model)
        refuse("model: Field required");
    if (!counts && !Number.isInteger(body.max_tokens))
        refuse("max_tokens: Field required");
    if (body.max_tokens < 1)
        refuse("max_tokens: must be greater than or equal to 1");
    if (Array.isArray(body.system))
        body.system.forEach((block, i) => checkBlock(block, `system.${i}`));
    else if (body.system !== undefined && !isText(body.system))
        refuse("system: Input should be a valid string");
    checkMessages(body, version, memory);
    if (body.tools !== undefined)
        checkTools(body.tools);
    if (body.tool_choice && !body.tools?.length)
        refuse("tool_choice: may only be specified while providing tools");
    const thinking = body.thinking;
    if (thinking?.type === "enabled" && !(thinking.budget_tokens >= 1024))
        refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    if (thinking?.type === "enabled" && !counts && thinking.budget_tokens >= body.max_tokens)
        refuse("`max_tokens` must be greater than `thinking.budget_tokens`");
    checkMarks(body);
}

// ---- neutral words ----

const textOf = (content) => isText(content) ? content
    : (content ?? []).map((b) => b.text ?? (b.type === "tool_result" ? textOf(b.content) : ""))
        .filter(Boolean).join("\n");

function view(body) {
    const last = body.messages.at(-1), uses = body.messages.flatMap((m) =>
        blocksOf(m).filter((b) => b.type === "tool_use"));
    return {
        model: body.model,
        system: textOf(body.system),
        tools: (body.tools ?? []).map((tool) => tool.name),
        assistant: body.messages.filter((m) => m.role === "assistant").length,
        last: textOf(last.content),
        results: blocksOf(last).filter((b) => b.type === "tool_result").map((b) => ({
            id: b.tool_use_id,
            name: uses.find((use) => use.id === b.tool_use_id)?.name,
            text: textOf(b.content),
            error: b.is_error === true,
        })),
    };
}

// ---- answers ----

const STOPS = { end: "end_turn", tools: "tool_use", length: "max_tokens", refused: "refusal",
    filter: "refusal", full: "model_context_window_exceeded", paused: "pause_turn",
    sequence: "stop_sequence" };

// Its empty beginning, the deltas, and the whole of a block.
function blockOf(part, turn, memory) {
    if (part.thought !== undefined) {
        const signature = memory.sign("thinking", part.thought);
        return {
            start: { type: "thinking", thinking: "", signature: "" },
            deltas: [
                ...pieces(part.thought, turn.piece)
                    .map((thinking) => ({ type: "thinking_delta", thinking })),
                { type: "signature_delta", signature },
            ],
            whole: { type: "thinking", thinking: part.thought, signature },
        };
    }
    if (part.redacted !== undefined) {
        const whole = { type: "redacted_thinking", data: memory.sign("redacted", part.redacted) };
        return { start: whole, deltas: [], whole };
    }
    if (part.call) {
        const head = { type: "tool_use", id: part.call.id ?? memory.id("toolu_01"), name: part.call.name };
        const json = part.call.arguments === "{}" ? "" : part.call.arguments;
        return {
            start: { ...head, input: {}, caller: { type: "direct" } },
            deltas: ["", ...pieces(json, turn.piece)].slice(json ? 0 : 1)
                .map((partial_json) => ({ type: "input_json_delta", partial_json })),
            whole: { ...head, input: parsed(part.call.arguments) ?? {}, caller: { type: "direct" } },
        };
    }
    return {
        start: { type: "text", text: "" },
        deltas: pieces(part.text, turn.piece).map((text) => ({ type: "text_delta", text })),
        whole: { type: "text", text: part.text },
    };
}

function answer(turn, request, memory) {
    const use = turn.usage, input = {
        input_tokens: use.input - use.cached - use.to_cache,
        cache_creation_input_tokens: use.to_cache,
        cache_read_input_tokens: use.cached,
    };
    const blocks = turn.parts.map((part) => blockOf(part, turn, memory));
    const content = blocks.map((block) => block.whole);
    for (const block of content)
        if (block.type === "tool_use")
            memory.turns.set(block.id, content);
    memory.paused = turn.stop === "paused";
    const refused = STOPS[turn.stop] === "refusal";
    const end = {
        stop_reason: STOPS[turn.stop] ?? turn.stop,
        stop_sequence: turn.stop === "sequence" ? "\n\nHuman:" : null,
        stop_details: refused ? { type: "refusal", category: "cyber", explanation: turn.explanation } : null,
    };
    const message = { model: request.body.model, id: memory.id("msg_01"), type: "message",
        role: "assistant", content: [], container: null, diagnostics: null, stop_reason: null,
        stop_sequence: null, stop_details: null };
    const usage = { ...input,
        cache_creation: { ephemeral_5m_input_tokens: use.to_cache, ephemeral_1h_input_tokens: 0 },
        service_tier: "standard", inference_geo: "global" };
    const details = { output_tokens_details: { thinking_tokens: use.thoughts } };

    const frames = [{ type: "message_start", message: { ...message, usage: { ...usage, output_tokens: 1 } } }];
    blocks.forEach((block, index) => {
        frames.push({ type: "content_block_start", index, content_block: block.start });
        if (!index)
            frames.push({ type: "ping" });
        for (const delta of block.deltas)
            frames.push({ type: "content_block_delta", index, delta });
        frames.push({ type: "content_block_stop", index });
    });
    frames.push({ type: "message_delta", delta: { ...end, container: null },
        usage: { ...input, output_tokens: use.output, ...details } });
    frames.push({ type: "message_stop" });
    if (turn.quirks.has("unknown"))
        frames.splice(1, 0, { type: "message_mood", mood: "fine" });
    return {
        whole: { ...message, ...end, content, usage: { ...usage, output_tokens: use.output, ...details } },
        frames: frames.map((data) => ({ event: data.type, data })),
    };
}

const TYPES = { 400: "invalid_request_error", 401: "authentication_error", 402: "billing_error",
    403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
    500: "api_error", 504: "timeout_error", 529: "overloaded_error" };
const WORDS = {
    401: "invalid x-api-key",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
};
const failure = (status, given) => ({
    type: "error",
    error: { type: given.type ?? TYPES[status] ?? (status < 500 ? TYPES[400] : TYPES[500]),
        message: given.message ?? WORDS[status] ?? "Error" },
    request_id: given.id,
});

export const anthropic = {
    name: "anthropic",
    maxBytes: 32 << 20,
    overloaded: 529,
    newline: "\n",
    idHeader: "request-id",
    ping: { event: "ping", data: { type: "ping" } },
    tooLong: (tokens, most) => ({ status: 400,
        message: `prompt is too long: ${tokens} tokens > ${most} maximum` }),
    wrongKey: { status: 401 },
    noKey: { status: 401, message: "x-api-key header is required" },
    route: (path) => /\/v1\/messages$/.test(path) ? { kind: "ask" }
        : /\/v1\/messages\/count_tokens$/.test(path) ? { kind: "count" } : undefined,
    streams: (request) => request.body.stream === true,
    key: (headers) => headers["x-api-key"] ?? bearer(headers),
    check, view, answer, failure,
    count: (input_tokens) => ({ input_tokens }),
    tokensOf: (body) => estimate([body.system, body.messages, body.tools]),
    frameOfFailure: (given) => ({ event: "error", data: failure(given.status ?? 529, given) }),
};
