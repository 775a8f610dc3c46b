// File search as the examples of frameworks have it: the Agents SDK, the AI SDK and LangChain. A store is filled by the
// OpenAI SDK, the model searches, and the citations arrive in the framework's own form.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { Agent, fileSearchTool, run, setDefaultOpenAIClient, setTracingDisabled } from "@openai/agents";
import { generateText } from "ai";
import OpenAI, { toFile } from "openai";

import { options, script } from "./support.mjs";

const client = new OpenAI(options);
const asked = "Be concise, and tell me one sentence about Arrakis I might not know.";
const text = "Arrakis, the desert planet, was once covered by seas.";
let store;
let file;

before(async () => {
  store = (await client.vectorStores.create({ name: "Arrakis" })).id;
  file = await client.vectorStores.files.uploadAndPoll(store, await toFile(Buffer.from(text), "arrakis.txt"));
  assert.equal(file.status, "completed");
});

const searching = () => script(
  { match: { tool_results: true }, answer: { text: "It was once covered by seas【1:0†source】." } },
  { answer: { tool_calls: [{ name: "file_search", id: "call_1", arguments: { queries: ["Arrakis seas"] } }] } });

describe("the Agents SDK", () => {
  it("searches files, shows what was found, and where an answer comes from", async () => {
    setDefaultOpenAIClient(client);
    setTracingDisabled(true);
    await searching();
    const agent = new Agent({
      name: "File searcher", model: "demo", instructions: "You answer only based on the information in the vector store.",
      tools: [fileSearchTool([store], { maxNumResults: 3, includeSearchResults: true })],
    });
    const result = await run(agent, asked);
    assert.equal(result.finalOutput, "It was once covered by seas.");
    const [call, message] = result.newItems.map((item) => item.rawItem);
    assert.deepEqual([call.name, call.status], ["file_search_call", "completed"]);
    assert.equal(call.providerData.results[0].text, text);
    const [annotation] = message.content[0].providerData.annotations;
    assert.deepEqual([annotation.type, annotation.file_id, annotation.filename, annotation.index],
      ["file_citation", file.id, "arrakis.txt", 27]);
    const again = await run(agent, result.history.concat({ role: "user", content: "Once more." }));
    assert.equal(again.finalOutput, "It was once covered by seas.");
  });
});

describe("the AI SDK", () => {
  it("searches files, and has them as sources", async () => {
    const openai = createOpenAI({ baseURL: options.baseURL, apiKey: options.apiKey });
    globalThis.AI_SDK_LOG_WARNINGS = false;
    await searching();
    const result = await generateText({
      model: openai("demo"), prompt: asked,
      tools: { file_search: openai.tools.fileSearch({ vectorStoreIds: [store], maxNumResults: 3 }) },
      providerOptions: { openai: { include: ["file_search_call.results"] } },
    });
    assert.equal(result.text, "It was once covered by seas.");
    assert.equal(result.sources[0].filename, "arrakis.txt");
    assert.equal(result.toolResults[0].output.results[0].text, text);
  });
});
