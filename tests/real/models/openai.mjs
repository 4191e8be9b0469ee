// openai.mjs - OpenAI Responses and Chat Completions, as script.mjs plays them.
import { bearer, estimate, isObject, isText, pieces, refuse, walkSchema } from "./common.mjs";

const CREATED = 1790000000; // when everything was made

// ---- what both refuse ----

const bad = (message, param = null, code = null) => refuse(message, { param, code });

function known(object, names, at) {
    for (const name of Object.keys(object))
        if (!names.includes(name))
            bad(`Unknown parameter: '${at}${name}'.`, at + name, "unknown_parameter");
}

function checkLength(text, most, at) {
    if (!isText(text) || !text)
        bad(`Missing required parameter: '${at}'.`, at, "missing_required_parameter");
    if (text.length > most)
        bad(`Invalid '${at}': string too long. Expected a string with maximum length ${most}, but ` +
            `got a string with length ${text.length} instead.`, at, "string_above_max_length");
}

function checkSchema(name, schema, strict, param) {
    const wrong = (why) => bad(`Invalid schema for function '${name}': ${why}`, param,
        "invalid_function_parameters");
    if (schema === undefined || schema === null)
        return;
    if (schema.type !== "object")
        wrong(`schema must be a JSON Schema of 'type: "object"', got 'type: "${schema.type ?? "None"}"'.`);
    if (["anyOf", "oneOf", "allOf", "enum", "not"].some((key) => key in schema))
        wrong("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the " +
            "top level.");
    walkSchema(schema, (below, at) => {
        const context = `(${at.map((step) => `'${step}'`).join(", ")}${at.length === 1 ? "," : ""})`;
        if (below.type === "array" && below.items === undefined && below.prefixItems === undefined)
            wrong(`In context=${context}, array schema missing items.`);
        if (!strict || below.type !== "object")
            return;
        if (below.additionalProperties !== false)
            wrong(`In context=${context}, 'additionalProperties' is required to be supplied and to be false.`);
        const open = Object.keys(below.properties ?? {}).filter((key) => !below.required?.includes(key));
        if (open.length)
            wrong(`In context=${context}, 'required' is required to be supplied and to be an array ` +
                `including every key in properties. Missing '${open[0]}'.`);
    });
}

// `functionOf` returns what has the name, `at` how it is called there.
function checkTools(tools, functionOf, at, names) {
    if (!Array.isArray(tools))
        bad("Invalid type for 'tools': expected an array.", "tools", "invalid_type");
    if (tools.length > 128)
        bad(`Invalid 'tools': array too long. Expected an array with maximum length 128, but got an ` +
            `array with length ${tools.length} instead.`, "tools", "array_above_max_length");
    tools.forEach((tool, i) => {
        if (tool?.type !== "function")
            return;
        const it = functionOf(tool), where = `tools[${i}]${at}`;
        if (!isObject(it))
            bad(`Missing required parameter: '${where}'.`, where, "missing_required_parameter");
        known(it, names, `${where}.`);
        checkLength(it.name, 64, `${where}.name`);
        if (!/^[a-zA-Z0-9_-]+$/.test(it.name))
            bad(`Invalid '${where}.name': string does not match pattern. Expected a string that matches ` +
                "the pattern '^[a-zA-Z0-9_-]+$'.", `${where}.name`, "invalid_value");
        checkSchema(it.name, it.parameters, it.strict === true, `${where}.parameters`);
    });
}

const dataUrl = (url) => !isText(url) || !url.startsWith("data:") ||
    /^data:(image\/(png|jpeg|gif|webp)|application\/pdf);base64,[A-Za-z0-9+/]+={0,2}$/.test(url);

function checkImage(url, param) {
    if (!dataUrl(url))
        bad(`Invalid '${param}'. Expected a valid URL or a base64-encoded data URL of a supported image ` +
            "type, but got a value that is neither.", param, "invalid_value");
}

const TYPES = { 401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error" };
const CODES = { 401: "invalid_api_key", 429: "rate_limit_exceeded", 503: "server_is_overloaded" };
const WORDS = {
    401: "Incorrect API key provided. You can find your API key at " +
        "https://platform.openai.com/account/api-keys.",
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "Our servers are currently overloaded. Please try again later.",
};
const errorOf = (status, given) => ({
    message: given.message ?? WORDS[status] ?? "Error",
    type: given.type ?? TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
    param: given.param ?? null,
    code: given.code ?? CODES[status] ?? null,
});
const both = {
    maxBytes: 512 << 20,
    overloaded: 503,
    newline: "\n",
    idHeader: "x-request-id",
    ping: { comment: "ping" },
    wrongKey: { status: 401 },
    noKey: { status: 401, message: "You didn't provide an API key. You need to provide your API key in " +
        "an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)." },
    key: (headers) => bearer(headers),
    streams: (request) => request.body.stream === true,
    failure: (status, given) => ({ error: errorOf(status, given) }),
};

// ---- Responses: requests ----

const COUNTED = ["conversation", "input", "instructions", "model", "parallel_tool_calls", "personality",
    "previous_response_id", "reasoning", "text", "tool_choice", "tools", "truncation"];
const KNOWN = [...COUNTED.filter((name) => name !== "personality"), "access_programs", "background",
    "context_management", "image", "include", "max_output_tokens", "max_tool_calls", "metadata",
    "moderation", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature",
    "top_logprobs", "top_p", "user"];
const TOOL = ["type", "name", "parameters", "strict", "allowed_callers", "async", "defer_loading",
    "description", "output_schema"];
const ITEMS = {
    message: ["role", "content", "id", "status", "phase"],
    function_call: ["arguments", "call_id", "name", "id", "async", "caller", "namespace", "status"],
    function_call_output: ["output", "call_id", "id", "caller", "name", "namespace", "status"],
    reasoning: ["id", "summary", "content", "encrypted_content", "status"],
};
const IDS = { message: "msg", function_call: "fc", reasoning: "rs" };
const INPUTS = ["input_text", "input_image", "input_file"], OUTPUTS = ["output_text", "refusal"];

function checkParts(parts, allowed, at) {
    parts.forEach((part, k) => {
        if (!allowed.includes(part?.type))
            bad(`Invalid value: '${part?.type}'. Supported values are: ` +
                `${allowed.map((x) => `'${x}'`).join(", ")}.`, `${at}[${k}].type`, "invalid_value");
        if (part.type === "input_image")
            checkImage(part.image_url, `${at}[${k}].image_url`);
    });
}

function checkItem(item, at) {
    const type = item?.type ?? (item?.role ? "message" : undefined);
    if (!ITEMS[type])
        bad(`Invalid value: '${type}'.`, at, "invalid_value");
    known(item, ["type", ...ITEMS[type]], `${at}.`);
    if (IDS[type] && item.id !== undefined && !item.id?.startsWith(IDS[type]))
        bad(`Invalid '${at}.id': '${item.id}'. Expected an ID that begins with '${IDS[type]}'.`,
            `${at}.id`, "invalid_value");
    if (type === "message") {
        if (!["user", "assistant", "system", "developer"].includes(item.role))
            bad(`Invalid value: '${item.role}'. Supported values are: 'assistant', 'system', ` +
                "'developer', and 'user'.", `${at}.role`, "invalid_value");
        if (Array.isArray(item.content))
            checkParts(item.content, item.role === "assistant" ? OUTPUTS : INPUTS, `${at}.content`);
        else if (!isText(item.content))
            bad(`Missing required parameter: '${at}.content'.`, `${at}.content`, "missing_required_parameter");
    }
    if (type === "function_call" || type === "function_call_output")
        checkLength(item.call_id, 64, `${at}.call_id`);
    if (type === "function_call") {
        checkLength(item.name, 128, `${at}.name`);
        if (!isText(item.arguments))
            bad(`Invalid type for '${at}.arguments': expected a string, but got an object instead.`,
                `${at}.arguments`, "invalid_type");
    }
    if (type === "function_call_output") {
        if (Array.isArray(item.output))
            checkParts(item.output, INPUTS, `${at}.output`);
        else if (!isText(item.output))
            bad(`Missing required parameter: '${at}.output'.`, `${at}.output`, "missing_required_parameter");
    }
}

function checkReasoning(items, body, memory) {
    items.forEach((item, i) => {
        const turn = memory.turns.get(item.id);
        if (item.type === "reasoning") {
            if (body.store === false && !item.encrypted_content)
                refuse(`Item with id '${item.id}' not found. Items are not persisted when \`store\` is set ` +
                    "to false. Try again with `store` set to true, or remove this item from your input.",
                { status: 404, param: "input" });
            if (item.encrypted_content && memory.signed.get(item.encrypted_content) !== item.id)
                bad(`The encrypted content ${item.encrypted_content.slice(0, 4)}... could not be verified. ` +
                    "Reason: Encrypted content could not be decrypted or parsed.", null,
                "invalid_encrypted_content");
            if (!isOurs(items[i + 1]))
                bad(`Item '${item.id}' of type 'reasoning' was provided without its required following ` +
                    "item.", "input");
        }
        const thought = item.type === "function_call" && turn?.find((x) => x.type === "reasoning");
        if (thought && !items.slice(0, i).some((x) => x.id === thought.id))
            bad(`Item '${item.id}' of type 'function_call' was provided without its required 'reasoning' ` +
                `item: '${thought.id}'.`, "input");
    });
}

function itemsOf(body, memory) {
    const own = isText(body.input) ? [{ role: "user", content: body.input }] : body.input ?? [];
    const before = body.previous_response_id;
    if (before && !memory.stored.has(before))
        bad(`Previous response with id '${before}' not found.`, "previous_response_id",
            "previous_response_not_found");
    return [...(before ? memory.stored.get(before) : []), ...own];
}

function checkResponses(body, request, memory) {
    known(body, request.kind === "count" ? COUNTED : KNOWN, "");
    if (!isText(body.model) || !body.model)
        bad("Missing required parameter: 'model'.", "model", "missing_required_parameter");
    if (body.input !== undefined && !isText(body.input) && !Array.isArray(body.input))
        bad("Invalid type for 'input': expected one of a string or array.", "input", "invalid_type");
    if (body.max_output_tokens < 16)
        bad("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got " +
            `${body.max_output_tokens} instead.`, "max_output_tokens", "integer_below_min_value");
    const items = itemsOf(body, memory);
    if (!items.length)
        bad("Missing required parameter: 'input'.", "input", "missing_required_parameter");
    items.forEach((item, i) => checkItem(item, `input[${i}]`));
    const idsOf = (type) => items.filter((item) => item.type === type).map((item) => item.call_id);
    const asked = idsOf("function_call"), answered = idsOf("function_call_output");
    for (const id of answered)
        if (!asked.includes(id) || items.findIndex((x) => x.type === "function_call" && x.call_id === id) >
            items.findIndex((x) => x.type === "function_call_output" && x.call_id === id))
            bad(`No tool call found for function call output with call_id ${id}.`, "input");
    for (const id of asked)
        if (!answered.includes(id))
            bad(`No tool output found for function call ${id}.`, "input");
    checkReasoning(items, body, memory);
    if (body.tools !== undefined)
        checkTools(body.tools, (tool) => tool, "", TOOL);
}

const partsText = (content) => isText(content) ? content
    : (content ?? []).map((part) => part.text ?? part.refusal ?? "").filter(Boolean).join("\n");

function viewResponses(body, request, memory) {
    const items = itemsOf(body, memory), outputs = [];
    for (let i = items.length - 1; i >= 0 && items[i].type === "function_call_output"; i--)
        outputs.unshift(items[i]);
    const isSystem = (item) => item.role === "system" || item.role === "developer";
    return {
        model: body.model,
        system: [body.instructions, ...items.filter(isSystem).map((item) => partsText(item.content))]
            .filter(Boolean).join("\n"),
        tools: (body.tools ?? []).map((tool) => tool.name),
        // A turn is what there is between the items of the user.
        assistant: items.filter((item, i) => isOurs(item) && !isOurs(items[i - 1])).length,
        last: outputs.length ? outputs.map((item) => partsText(item.output)).join("\n")
            : partsText(items.at(-1).content),
        results: outputs.map((item) => ({
            id: item.call_id,
            name: items.find((x) => x.type === "function_call" && x.call_id === item.call_id)?.name,
            text: partsText(item.output),
        })),
    };
}

const isOurs = (item) => item?.role === "assistant" || item?.type === "function_call" ||
    item?.type === "reasoning";

// ---- Responses: answers ----

// The item as it begins, the events of it, and the whole.
function itemOf(part, turn, request, memory) {
    const size = turn.piece, body = request.body;
    if (part.thought !== undefined) {
        const id = memory.id("rs_"), events = [];
        const secret = body.include?.includes("reasoning.encrypted_content")
            ? { encrypted_content: memory.sign("reasoning", id) } : {};
        const summary = body.reasoning?.summary ? [{ type: "summary_text", text: part.thought }] : [];
        if (summary.length) {
            const at = { item_id: id, summary_index: 0 };
            events.push(["reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } }]);
            for (const delta of pieces(part.thought, size))
                events.push(["reasoning_summary_text.delta", { ...at, delta }]);
            events.push(["reasoning_summary_text.done", { ...at, text: part.thought }]);
            events.push(["reasoning_summary_part.done", { ...at, part: summary[0] }]);
        }
        const whole = { id, type: "reasoning", ...secret, summary };
        return { start: { ...whole, summary: [] }, events, whole };
    }
    if (part.call) {
        const { name, namespace, arguments: text } = part.call;
        const whole = { id: memory.id("fc_"), type: "function_call", status: "completed", arguments: text,
            call_id: part.call.id ?? memory.id("call_"), name, ...(namespace ? { namespace } : {}) };
        return {
            start: { ...whole, status: "in_progress", arguments: "" },
            events: [
                ...pieces(text, size).map((delta) =>
                    ["function_call_arguments.delta", { item_id: whole.id, delta }]),
                ["function_call_arguments.done", { item_id: whole.id, name, arguments: text }],
            ],
            whole,
        };
    }
    const id = memory.id("msg_"), at = { item_id: id, content_index: 0 }, kind = part.refusal !== undefined;
    const text = part.refusal ?? part.text;
    const content = (said) => kind ? { type: "refusal", refusal: said }
        : { type: "output_text", annotations: [], logprobs: [], text: said };
    const event = kind ? "refusal" : "output_text", extra = kind ? {} : { logprobs: [] };
    const whole = { id, type: "message", status: "completed", role: "assistant", content: [content(text)] };
    return {
        start: { ...whole, status: "in_progress", content: [] },
        events: [
            ["content_part.added", { ...at, part: content("") }],
            ...pieces(text, size).map((delta) => [`${event}.delta`, { ...at, ...extra, delta }]),
            [`${event}.done`, { ...at, ...extra, [kind ? "refusal" : "text"]: text }],
            ["content_part.done", { ...at, part: content(text) }],
        ],
        whole,
    };
}

const TOO_LONG = "Your input exceeds the context window of this model. Please adjust your input " +
    "and try again.";
const ENDS = {
    length: ["incomplete", { incomplete_details: { reason: "max_output_tokens" } }],
    filter: ["incomplete", { incomplete_details: { reason: "content_filter" } }],
    full: ["failed", { error: { code: "context_length_exceeded", message: TOO_LONG } }],
};

function answerResponses(turn, request, memory) {
    const body = request.body, use = turn.usage;
    const parts = turn.stop === "refused" ? [...turn.parts, { refusal: turn.explanation }] : turn.parts;
    const items = parts.filter((part) => part.redacted === undefined)
        .map((part) => itemOf(part, turn, request, memory));
    const output = items.map((item) => item.whole);
    for (const item of output)
        memory.turns.set(item.id, output);
    const begun = {
        id: memory.id("resp_"), object: "response", created_at: CREATED, status: "in_progress",
        background: false, completed_at: null, error: null, incomplete_details: null,
        instructions: body.instructions ?? null, max_output_tokens: body.max_output_tokens ?? null,
        max_tool_calls: null, metadata: {}, model: body.model, output: [],
        parallel_tool_calls: body.parallel_tool_calls ?? true,
        previous_response_id: body.previous_response_id ?? null, prompt_cache_key: null,
        reasoning: { effort: null, summary: null, ...body.reasoning }, safety_identifier: null,
        service_tier: "default", store: body.store ?? true, temperature: 1,
        text: { format: { type: "text" }, verbosity: "medium" }, tool_choice: body.tool_choice ?? "auto",
        tools: body.tools ?? [], top_logprobs: 0, top_p: 1, truncation: "disabled", usage: null, user: null,
    };
    const [status, why] = ENDS[turn.stop] ?? ["completed", {}];
    const whole = {
        ...begun, status, ...why, output, completed_at: status === "completed" ? CREATED + 1 : null,
        usage: {
            input_tokens: use.input,
            input_tokens_details: { cached_tokens: use.cached, cache_write_tokens: use.to_cache },
            output_tokens: use.output, output_tokens_details: { reasoning_tokens: use.thoughts },
            total_tokens: use.input + use.output,
        },
    };
    if (body.store !== false)
        memory.stored.set(whole.id, [...itemsOf(body, memory), ...output]);

    const events = [["created", { response: begun }], ["in_progress", { response: begun }]];
    items.forEach((item, output_index) => {
        events.push(["output_item.added", { output_index, item: item.start }]);
        for (const [name, data] of item.events)
            events.push([name, { output_index, ...data }]);
        events.push(["output_item.done", { output_index, item: item.whole }]);
    });
    if (turn.quirks.has("unknown"))
        events.splice(1, 0, ["mood", { mood: "fine" }]);
    events.push([status, { response: whole }]);
    return {
        whole,
        frames: events.map(([name, data], i) => ({
            event: `response.${name}`,
            data: { type: `response.${name}`, ...data, sequence_number: i },
        })),
    };
}

export const responses = {
    ...both,
    name: "openai",
    tooLong: () => ({ status: 400, param: "input", code: "context_length_exceeded",
        message: TOO_LONG }),
    route: (path) => /\/responses$/.test(path) ? { kind: "ask" }
        : /\/responses\/input_tokens$/.test(path) ? { kind: "count" } : undefined,
    check: checkResponses, view: viewResponses, answer: answerResponses,
    count: (input_tokens) => ({ object: "response.input_tokens", input_tokens }),
    tokensOf: (body) => estimate([body.instructions, body.input, body.tools]),
    // As the API sends it; "flat-error" is the form that its description has.
    frameOfFailure: (given, turn, i) => {
        const error = errorOf(given.status ?? 500, given), { type, ...flat } = error;
        return { event: "error", data: { type: "error", sequence_number: i,
            ...(turn.quirks.has("flat-error") ? flat : { error: { type, ...flat } }) } };
    },
};

// ---- Chat Completions: requests ----

const CHAT = ["messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias",
    "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities", "moderation", "n",
    "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed",
    "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "tools",
    "top_logprobs", "top_p", "user", "verbosity", "web_search_options"];
const ROLES = ["system", "assistant", "user", "tool", "developer"];
const PARTS = { user: ["text", "image_url", "input_audio", "file"], assistant: ["text", "refusal"],
    tool: ["text"], system: ["text"], developer: ["text"] };

function checkChatMessage(message, at) {
    if (!ROLES.includes(message?.role))
        bad(`Invalid value: '${message?.role}'. Supported values are: ` +
            `${ROLES.map((x) => `'${x}'`).join(", ")}.`, `${at}.role`, "invalid_value");
    const content = message.content;
    if (message.tool_calls !== undefined && !message.tool_calls?.length)
        bad(`Invalid '${at}.tool_calls': empty array. Expected an array with minimum length 1, but got an ` +
            "empty array instead.", `${at}.tool_calls`, "empty_array");
    if ((content ?? null) === null && !(message.role === "assistant" && message.tool_calls))
        bad("Invalid value for 'content': expected a string, got null.", `${at}.content`, "invalid_type");
    for (const [k, part] of Array.isArray(content) ? content.entries() : []) {
        if (part?.type === "image_url" && message.role !== "user")
            bad(`Invalid '${at}'. Image URLs are only allowed for messages with role 'user', but this ` +
                `message with role '${message.role}' contains an image URL.`, at, "invalid_value");
        if (!PARTS[message.role].includes(part?.type))
            bad(`Invalid value: '${part?.type}'. Supported values are: ` +
                `${PARTS[message.role].map((x) => `'${x}'`).join(", ")}.`, `${at}.content[${k}].type`,
            "invalid_value");
        if (part.type === "image_url")
            checkImage(part.image_url?.url, `${at}.content[${k}].image_url.url`);
    }
    (message.tool_calls ?? []).forEach((call, k) => {
        const where = `${at}.tool_calls[${k}]`;
        checkLength(call?.id, 40, `${where}.id`);
        if (call.type !== "function")
            bad(`Missing required parameter: '${where}.type'.`, `${where}.type`, "missing_required_parameter");
        checkLength(call.function?.name, 64, `${where}.function.name`);
        if (!isText(call.function.arguments))
            bad(`Invalid type for '${where}.function.arguments': expected a string, but got an object ` +
                "instead.", `${where}.function.arguments`, "invalid_type");
    });
}

// Each call has its message, right after those who asked.
function checkChatPairs(messages) {
    let open = [];
    const unanswered = () => {
        if (open.length)
            bad("An assistant message with 'tool_calls' must be followed by tool messages responding to " +
                "each 'tool_call_id'. The following tool_call_ids did not have response messages: " +
                `${open.join(", ")}`, "messages");
    };
    messages.forEach((message, i) => {
        if (message.role === "tool") {
            if (!open.includes(message.tool_call_id))
                bad("Invalid parameter: messages with role 'tool' must be a response to a preceeding " +
                    "message with 'tool_calls'.", `messages.[${i}].role`);
            open = open.filter((id) => id !== message.tool_call_id);
            return;
        }
        unanswered();
        open = (message.tool_calls ?? []).map((call) => call.id);
    });
    unanswered();
}

function checkChat(body) {
    known(body, CHAT, "");
    if (!isText(body.model) || !body.model)
        bad("you must provide a model parameter");
    if (!Array.isArray(body.messages) || !body.messages.length)
        bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter");
    if (body.stream_options && !body.stream)
        bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
    if (body.max_tokens !== undefined && /^(o\d|gpt-[5-9])/.test(body.model))
        bad("Unsupported parameter: 'max_tokens' is not supported with this model. Use " +
            "'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter");
    body.messages.forEach((message, i) => checkChatMessage(message, `messages[${i}]`));
    checkChatPairs(body.messages);
    if (body.tools !== undefined) {
        checkTools(body.tools, (tool) => tool.function, ".function",
            ["name", "description", "parameters", "strict"]);
        if (!body.tools.length)
            bad("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty " +
                "array instead.", "tools", "empty_array");
    }
    if (body.tool_choice && !body.tools)
        bad("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice");
    if (body.parallel_tool_calls !== undefined && !body.tools)
        bad("'parallel_tool_calls' is only allowed when 'tools' are specified.", "parallel_tool_calls");
}

function viewChat(body) {
    const messages = body.messages, calls = messages.flatMap((m) => m.tool_calls ?? []);
    // Images of results follow in a message of the user.
    const from = messages.findLastIndex((m) => m.role === "assistant") + 1;
    const after = messages.slice(from), answers = after.filter((m) => m.role === "tool");
    return {
        model: body.model,
        system: messages.filter((m) => m.role === "system" || m.role === "developer")
            .map((m) => partsText(m.content)).join("\n"),
        tools: (body.tools ?? []).map((tool) => tool.function.name),
        assistant: messages.filter((m) => m.role === "assistant").length,
        last: (answers.length ? after : messages.slice(-1)).map((m) => partsText(m.content)).join("\n"),
        results: answers.map((m) => ({
            id: m.tool_call_id,
            name: calls.find((call) => call.id === m.tool_call_id)?.function.name,
            text: partsText(m.content),
        })),
    };
}

// ---- Chat Completions: answers ----

const FINISH = { end: "stop", tools: "tool_calls", length: "length", refused: "stop", filter: "content_filter",
    full: "length", paused: "stop", sequence: "stop" };

// Some servers: the name in every piece, no index, no id, an object of arguments.
function callDeltas(call, index, turn) {
    const quirk = (name) => turn.quirks.has(name);
    const place = quirk("no-index") ? {} : { index };
    const id = quirk("no-id") ? {} : { id: quirk("empty-id") ? "" : call.id };
    if (quirk("arguments-object"))
        return [{ ...place, ...id, type: "function",
            function: { name: call.name, arguments: JSON.parse(call.arguments) } }];
    const head = { ...place, ...id, type: "function", function: { name: call.name, arguments: "" } };
    const again = quirk("name-repeated") ? { name: call.name } : {};
    if (quirk("whole-calls"))
        return [{ ...head, function: { name: call.name, arguments: call.arguments } }];
    return [head, ...pieces(call.arguments, turn.piece).map((text) =>
        ({ ...place, ...(quirk("name-repeated") ? id : {}), function: { ...again, arguments: text } }))];
}

// One after the other, or in turns.
function mixed(lists, inTurns) {
    if (!inTurns)
        return lists.flat();
    const out = [];
    for (let i = 0; lists.some((list) => i < list.length); i++)
        for (const list of lists)
            out.push(...list.slice(i, i + 1));
    return out;
}

function answerChat(turn, request, memory) {
    const body = request.body, use = turn.usage, quirk = (name) => turn.quirks.has(name);
    const calls = turn.parts.filter((part) => part.call)
        .map(({ call }) => ({ ...call, id: call.id ?? memory.id("call_") }));
    const join = (key) => turn.parts.map((part) => part[key] ?? "").join("");
    const text = join("text"), thought = quirk("reasoning_content") ? join("thought") : "";
    const finish = quirk("finish-stop") ? "stop" : FINISH[turn.stop] ?? turn.stop;
    const base = { id: memory.id("chatcmpl-"), object: "chat.completion", created: CREATED,
        model: body.model, service_tier: "default", system_fingerprint: "fp_script" };
    const usage = {
        prompt_tokens: use.input, completion_tokens: use.output, total_tokens: use.input + use.output,
        prompt_tokens_details: { cached_tokens: use.cached, cache_write_tokens: use.to_cache,
            audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: use.thoughts, audio_tokens: 0,
            accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
    };
    const refusal = turn.stop === "refused" ? turn.explanation : null;

    const counts = body.stream_options?.include_usage && !quirk("no-usage");
    const chunk = (choices, more = counts ? { usage: null } : {}) =>
        ({ data: { ...base, object: "chat.completion.chunk", choices, ...more } });
    const delta = (it, finish_reason = null) =>
        chunk([{ index: 0, delta: it, logprobs: null, finish_reason }]);
    const frames = [delta({ role: "assistant", content: calls.length && !text ? null : "", refusal: null })];
    frames.push(...pieces(thought, turn.piece).map((reasoning_content) => delta({ reasoning_content })));
    frames.push(...pieces(text, turn.piece).map((content) => delta({ content })));
    frames.push(...pieces(refusal ?? "", turn.piece).map((it) => delta({ refusal: it })));
    frames.push(...mixed(calls.map((call, i) => callDeltas(call, i, turn)), quirk("interleaved"))
        .map((it) => delta({ tool_calls: [it] })));
    frames.push(delta({}, finish));
    if (counts)
        frames.push(chunk([], { usage }));
    if (!quirk("no-done"))
        frames.push({ data: "[DONE]" });
    const message = { role: "assistant", content: text || null, refusal, annotations: [] };
    if (thought)
        message.reasoning_content = thought;
    if (calls.length)
        message.tool_calls = calls.map((call) => ({ id: call.id, type: "function",
            function: { name: call.name, arguments: call.arguments } }));
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
    return { whole: { ...base, choices, usage }, frames };
}

export const chat = {
    ...both,
    name: "openai-chat",
    tooLong: (tokens, most) => ({ status: 400, param: "messages", code: "context_length_exceeded",
        message: `This model's maximum context length is ${most} tokens. However, your messages resulted in ` +
            `${tokens} tokens. Please reduce the length of the messages.` }),
    route: (path) => /\/chat\/completions$/.test(path) ? { kind: "ask" } : undefined,
    check: checkChat, view: viewChat, answer: answerChat,
    tokensOf: (body) => estimate([body.messages, body.tools]),
    frameOfFailure: (given) => ({ data: { error: errorOf(given.status ?? 500, given) } }),
};
