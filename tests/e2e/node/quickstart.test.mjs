// OpenAI's quickstart for Assistants, by its public calls: a button makes an assistant with every hosted tool, a route of
// a web server passes runs on as readable streams, and the page reads them with AssistantStream. Files of its second page
// go to a vector store of the assistant.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import OpenAI from "openai4";
import { AssistantStream } from "openai4/lib/AssistantStream";

import { options, script, user, weatherTool } from "./support.mjs";

const openai = new OpenAI(options);
const { assistants, threads } = openai.beta;

// ---- The routes ----

let assistantId;

// A web server takes what its route returns at once. The SDK changes events that were not taken yet: a message that has
// been created gets the text of the deltas behind it.
const atOnce = new CountQueuingStrategy({ highWaterMark: 10000 });
const served = (stream) => stream.toReadableStream().pipeThrough(new TransformStream({}, atOnce, atOnce));

const routes = {
  makeAssistant: () => assistants.create({
    instructions: "You are a helpful assistant.", name: "Quickstart Assistant", model: "demo",
    tools: [{ type: "code_interpreter" }, weatherTool, { type: "file_search" }],
  }),
  makeThread: () => threads.create(),
  async say(threadId, content) {
    await threads.messages.create(threadId, user(content));
    return served(threads.runs.stream(threadId, { assistant_id: assistantId }));
  },
  act: (threadId, runId, toolCallOutputs) => served(threads.runs.submitToolOutputsStream(
    threadId, runId, { tool_outputs: toolCallOutputs })),
  async vectorStore() {
    const { tool_resources: resources } = await assistants.retrieve(assistantId);
    const [found] = resources?.file_search?.vector_store_ids ?? [];
    if (found) return found;
    const made = await openai.vectorStores.create({ name: "sample-assistant-vector-store" });
    await assistants.update(assistantId, { tool_resources: { file_search: { vector_store_ids: [made.id] } } });
    return made.id;
  },
  async upload(file) {
    const { id } = await openai.files.create({ file, purpose: "assistants" });
    await openai.vectorStores.files.create(await routes.vectorStore(), { file_id: id });
  },
  async files() {
    const store = await routes.vectorStore();
    const list = await openai.vectorStores.files.list(store);
    return Promise.all(list.data.map(async ({ id }) => {
      const [file, inStore] = await Promise.all([
        openai.files.retrieve(id), openai.vectorStores.files.retrieve(store, id)]);
      return { id, filename: file.filename, status: inStore.status };
    }));
  },
  remove: async (id) => openai.vectorStores.files.del(await routes.vectorStore(), id),
};

// ---- The page ----

class Page {
  shown = [];
  calls = [];
  code = "";
  pictures = [];

  async open() {
    this.thread = (await routes.makeThread()).id;
  }

  async say(text) {
    this.shown.push(["user", text]);
    await this.read(await routes.say(this.thread, text));
    return this.shown.at(-1)[1];
  }

  async read(readable) {
    const stream = AssistantStream.fromReadableStream(readable);
    let waits;
    stream.on("textCreated", () => this.shown.push(["assistant", ""]));
    stream.on("textDelta", (delta) => { this.shown.at(-1)[1] += delta.value ?? ""; });
    stream.on("toolCallCreated", (call) => this.calls.push(call.type));
    stream.on("toolCallDelta", ({ code_interpreter: code }) => { this.code += code?.input ?? ""; });
    stream.on("imageFileDone", (image) => this.pictures.push(image.file_id));
    stream.on("event", ({ event, data }) => {
      if (event === "thread.run.requires_action") waits = data;
    });
    await stream.done();
    if (!waits) return;
    const outputs = waits.required_action.submit_tool_outputs.tool_calls.map((call) => ({
      output: JSON.stringify({ city: JSON.parse(call.function.arguments).city, temperature: 21 }), tool_call_id: call.id,
    }));
    await this.read(await routes.act(this.thread, waits.id, outputs));
  }
}

describe("the quickstart", () => {
  before(async () => {
    assistantId = (await routes.makeAssistant()).id;
  });

  it("holds a conversation, and answers calls of its function", async () => {
    await script(
      { match: { user: "weather", tool_results: true }, answer: { text: "It is {{tool_output}}." } },
      { match: { user: "weather" },
        answer: { tool_calls: [{ name: "get_weather", id: "call_1", arguments: { city: "Paris" } }] } },
      { answer: { text: "Hello, Ada." } },
    );
    const page = new Page();
    await page.open();
    assert.equal(await page.say("I am Ada."), "Hello, Ada.");
    assert.equal(await page.say("The weather?"), 'It is {"city":"Paris","temperature":21}.');
    assert.deepEqual(page.calls, ["function"]);
    assert.equal(await page.say("Thanks."), "Hello, Ada.");
    const kept = (await threads.messages.list(page.thread, { order: "asc" })).data;
    assert.deepEqual(kept.map((message) => [message.role, message.content[0].text.value]), page.shown);
  });

  it("runs code, and shows its figures", { skip: process.env.NO_SANDBOX }, async () => {
    const code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()";
    await script(
      { match: { tool_results: true }, answer: { text: "Here it is." } },
      { answer: { tool_calls: [{ name: "python", id: "call_3", arguments: { code } }] } },
    );
    const page = new Page();
    await page.open();
    assert.equal(await page.say("Plot it."), "Here it is.");
    assert.deepEqual([page.calls, page.code, page.pictures.length], [["code_interpreter"], code, 1]);
    const picture = await openai.files.content(page.pictures[0]);
    assert.equal(Buffer.from(await picture.arrayBuffer()).toString("latin1", 1, 4), "PNG");
  });

  it("keeps files that the assistant searches", async () => {
    await routes.upload(new File(["The code word is Marmalade."], "words.txt"));
    let [file] = await routes.files();
    for (; file.status === "in_progress"; [file] = await routes.files());
    assert.deepEqual([file.filename, file.status], ["words.txt", "completed"]);
    await script(
      { match: { tool_results: true }, answer: { text: "It says {{tool_output}}" } },
      { answer: { tool_calls: [{ name: "file_search", id: "call_2", arguments: { queries: ["code word"] } }] } },
    );
    const page = new Page();
    await page.open();
    assert.match(await page.say("What is the code word?"), /Marmalade/);
    assert.deepEqual(page.calls, ["file_search"]);
    await routes.remove(file.id);
    assert.deepEqual(await routes.files(), []);
  });
});
