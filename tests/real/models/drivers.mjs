// drivers.mjs - the official SDKs, each behind the same few functions.
//
// new drivers[API](port, {retries, geminiVersion}) begins a conversation in which two tools
// are offered.
//   ask(text) | give(results)   sends it, and returns what was streamed: {text, thought,
//                               calls: [{id, name, arguments}], usage, stop, error}
//   count()                     tokens of the conversation, or undefined where there is no way
//   tools                       what is offered, to be spoilt
// Usage is in the words of script.mjs. An error is that of the SDK, {status, type, message}.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(path.join(process.env.MCPLUG_TEST_NPM, "node_modules", "x"));
const load = async (name) => import(pathToFileURL(from.resolve(name)));
const [{ default: Anthropic }, { default: OpenAI }, { GoogleGenAI }] =
    await Promise.all(["@anthropic-ai/sdk", "openai", "@google/genai"].map(load));

export const KEY = "a key that no journal shows";
export const SYSTEM = "You add numbers.";
const TOOLS = [
    { name: "add", description: "Adds two numbers", schema: { type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] } },
    { name: "now", description: "The time", schema: { type: "object", properties: {} } },
];

class Driver {
    constructor() {
        this.tools = structuredClone(TOOLS);
    }

    async send() {
        try {
            return await this.stream();
        } catch (error) {
            return { error };
        }
    }
}

class AnthropicDriver extends Driver {
    messages = [];

    constructor(port, { retries = 0 } = {}) {
        super();
        this.client = new Anthropic({ apiKey: KEY, baseURL: `http://127.0.0.1:${port}`, maxRetries: retries });
    }

    body() {
        return { model: "claude-script-5", system: SYSTEM, messages: this.messages,
            thinking: { type: "adaptive" },
            tools: this.tools.map(({ name, description, schema }) =>
                ({ name, description, input_schema: schema })) };
    }

    ask(text) {
        this.messages.push({ role: "user", content: text });
        return this.send();
    }

    give(results) {
        this.messages.push({ role: "user", content: results.map(({ id, text, isError }) =>
            ({ type: "tool_result", tool_use_id: id, content: [{ type: "text", text }], is_error: isError })) });
        return this.send();
    }

    async stream() {
        const seen = { text: "", thought: "" };
        const stream = this.client.messages.stream({ ...this.body(), max_tokens: 2000 });
        stream.on("text", (text) => (seen.text += text));
        stream.on("thinking", (thought) => (seen.thought += thought));
        const message = await stream.finalMessage(), usage = message.usage;
        this.messages.push({ role: "assistant", content: message.content });
        return {
            ...seen,
            calls: message.content.filter((block) => block.type === "tool_use")
                .map((block) => ({ id: block.id, name: block.name, arguments: block.input })),
            usage: {
                input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) +
                    (usage.cache_creation_input_tokens ?? 0),
                cached: usage.cache_read_input_tokens, to_cache: usage.cache_creation_input_tokens,
                output: usage.output_tokens,
            },
            stop: message.stop_reason,
            details: message.stop_details,
        };
    }

    async count() {
        return (await this.client.messages.countTokens(this.body())).input_tokens;
    }
}

const openai = (port, retries) =>
    new OpenAI({ apiKey: KEY, baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: retries });

class ResponsesDriver extends Driver {
    input = [];

    constructor(port, { retries = 0 } = {}) {
        super();
        this.client = openai(port, retries);
    }

    body() {
        return { model: "gpt-script", instructions: SYSTEM, input: this.input,
            reasoning: { summary: "auto" },
            tools: this.tools.map(({ name, description, schema }) =>
                ({ type: "function", name, description, parameters: schema, strict: false })) };
    }

    ask(text) {
        this.input.push({ role: "user", content: text });
        return this.send();
    }

    give(results) {
        this.input.push(...results.map(({ id, text }) =>
            ({ type: "function_call_output", call_id: id, output: [{ type: "input_text", text }] })));
        return this.send();
    }

    async stream() {
        const seen = { text: "", thought: "", refusal: "" };
        const stream = this.client.responses.stream({ ...this.body(), store: false,
            include: ["reasoning.encrypted_content"] });
        stream.on("response.output_text.delta", ({ delta }) => (seen.text += delta));
        stream.on("response.reasoning_summary_text.delta", ({ delta }) => (seen.thought += delta));
        stream.on("response.refusal.delta", ({ delta }) => (seen.refusal += delta));
        const response = await stream.finalResponse(), usage = response.usage;
        // What the helper has added is not for the API.
        this.input.push(...response.output.map(({ parsed_arguments, ...item }) => ({ ...item,
            ...(item.content ? { content: item.content.map(({ parsed, ...part }) => part) } : {}) })));
        return {
            ...seen,
            calls: response.output.filter((item) => item.type === "function_call")
                .map((item) => ({ id: item.call_id, name: item.name, arguments: item.arguments })),
            usage: {
                input: usage.input_tokens, cached: usage.input_tokens_details?.cached_tokens,
                to_cache: usage.input_tokens_details?.cache_write_tokens, output: usage.output_tokens,
            },
            stop: response.incomplete_details?.reason ?? response.status,
        };
    }

    async count() {
        return (await this.client.responses.inputTokens.count(this.body())).input_tokens;
    }
}

class ChatDriver extends Driver {
    messages = [{ role: "system", content: SYSTEM }];

    constructor(port, { retries = 0 } = {}) {
        super();
        this.client = openai(port, retries);
    }

    ask(text) {
        this.messages.push({ role: "user", content: text });
        return this.send();
    }

    give(results) {
        this.messages.push(...results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })));
        return this.send();
    }

    async stream() {
        const seen = { text: "", refusal: "" };
        const stream = this.client.chat.completions.stream({
            model: "gpt-script", messages: this.messages, stream_options: { include_usage: true },
            tools: this.tools.map(({ name, description, schema }) =>
                ({ type: "function", function: { name, description, parameters: schema } })),
        });
        stream.on("content", (delta) => (seen.text += delta));
        stream.on("refusal.delta", ({ delta }) => (seen.refusal += delta));
        const { choices: [{ message, finish_reason }], usage } = await stream.finalChatCompletion();
        const { parsed, ...sent } = message;
        this.messages.push(sent);
        return {
            ...seen,
            calls: (message.tool_calls ?? []).map((call) =>
                ({ id: call.id, name: call.function.name, arguments: call.function.arguments })),
            usage: {
                input: usage.prompt_tokens, cached: usage.prompt_tokens_details?.cached_tokens,
                to_cache: usage.prompt_tokens_details?.cache_write_tokens, output: usage.completion_tokens,
            },
            stop: finish_reason,
        };
    }

    async count() {}
}

class GeminiDriver extends Driver {
    // Since 3.0 the SDK asks for v1, and before for v1beta.
    constructor(port, { retries = 0, geminiVersion = "v1" } = {}) {
        super();
        this.client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: `http://127.0.0.1:${port}`,
            apiVersion: geminiVersion,
            ...(retries ? { retryOptions: { attempts: retries + 1, initialDelay: 0.01 } } : {}) } });
        this.chat = this.client.chats.create({ model: "gemini-3-script" });
    }

    ask(text) {
        this.message = text;
        return this.send();
    }

    give(results) {
        this.message = results.map(({ id, name, text, isError }) => ({ functionResponse: { id, name,
            response: isError ? { error: text } : { output: text } } }));
        return this.send();
    }

    async stream() {
        const seen = { text: "", thought: "", calls: [], stop: undefined };
        const stream = await this.chat.sendMessageStream({ message: this.message, config: {
            systemInstruction: SYSTEM,
            tools: [{ functionDeclarations: this.tools.map(({ name, description, schema }) =>
                ({ name, description, parametersJsonSchema: schema })) }],
        } });
        for await (const chunk of stream) {
            const candidate = chunk.candidates?.[0], usage = chunk.usageMetadata;
            for (const part of candidate?.content?.parts ?? [])
                if (part.functionCall)
                    seen.calls.push({ id: part.functionCall.id, name: part.functionCall.name,
                        arguments: part.functionCall.args });
                else
                    seen[part.thought ? "thought" : "text"] += part.text;
            seen.stop = candidate?.finishReason ?? chunk.promptFeedback?.blockReason ?? seen.stop;
            // There is no figure of what was written to a cache.
            if (usage)
                seen.usage = { input: usage.promptTokenCount, cached: usage.cachedContentTokenCount ?? 0,
                    output: usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0) };
        }
        return seen;
    }

    async count() {
        const contents = [...this.chat.getHistory(true), { role: "user", parts: [{ text: "?" }] }];
        return (await this.client.models.countTokens({ model: "gemini-3-script", contents })).totalTokens;
    }
}

export const drivers = { anthropic: AnthropicDriver, openai: ResponsesDriver, "openai-chat": ChatDriver,
    gemini: GeminiDriver };
