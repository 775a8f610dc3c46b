// openai 4, which much of what is in production still uses.

import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";

import OpenAI from "openai4";

import {
  answerWith, options, script, user, weatherFlat, weatherRules, weatherTool,
} from "./support.mjs";
import { everyOperation } from "./assistants.mjs";

const client = new OpenAI(options);
const { assistants, threads } = client.beta;
const hello = "Hello there, my friend.";

beforeEach(() => answerWith({ text: hello }));

everyOperation(client, {
  deleteAssistant: (id) => assistants.del(id),
  deleteThread: (id) => threads.del(id),
  message: (thread, id) => threads.messages.retrieve(thread, id),
  updateMessage: (thread, id, body) => threads.messages.update(thread, id, body),
  deleteMessage: (thread, id) => threads.messages.del(thread, id),
  run: (thread, id) => threads.runs.retrieve(thread, id),
  updateRun: (thread, id, body) => threads.runs.update(thread, id, body),
  cancel: (thread, id) => threads.runs.cancel(thread, id),
  poll: (thread, id, how) => threads.runs.poll(thread, id, how),
  submit: (thread, id, body) => threads.runs.submitToolOutputs(thread, id, body),
  submitAndPoll: (thread, id, body, how) =>
    threads.runs.submitToolOutputsAndPoll(thread, id, body, how),
  submitStream: (thread, id, body) => threads.runs.submitToolOutputsStream(thread, id, body),
  steps: (thread, id, query) => threads.runs.steps.list(thread, id, query),
  step: (thread, run, id) => threads.runs.steps.retrieve(thread, run, id),
}, OpenAI.NotFoundError);

async function prepare(...tools) {
  const assistant = await assistants.create({ model: "demo", tools });
  const thread = await threads.create({ messages: [user("How is the weather?")] });
  return { assistant, thread };
}

describe("assistants", () => {
  it("stream text to the end", async () => {
    const { assistant, thread } = await prepare();
    const stream = threads.runs.stream(thread.id, { assistant_id: assistant.id });
    const said = [];
    stream.on("textDelta", (delta) => said.push(delta.value));
    assert.equal((await stream.finalRun()).status, "completed");
    assert.equal(said.join(""), hello);
    assert.equal((await stream.finalMessages())[0].content[0].text.value, hello);
  });

  it("stream calls, and continue with their outputs", async () => {
    await script(...weatherRules);
    const { assistant, thread } = await prepare(weatherTool);
    const first = threads.runs.stream(thread.id, { assistant_id: assistant.id });
    const run = await first.finalRun();
    assert.equal(run.status, "requires_action");
    const outputs = run.required_action.submit_tool_outputs.tool_calls.map((call) => ({
      tool_call_id: call.id, output: "sunny",
    }));
    const second = threads.runs.submitToolOutputsStream(thread.id, run.id,
      { tool_outputs: outputs });
    assert.equal((await second.finalRun()).status, "completed");
    assert.equal((await second.finalMessages())[0].content[0].text.value, "It is sunny, sunny.");
  });

  it("poll", async () => {
    await script(...weatherRules);
    const { assistant, thread } = await prepare(weatherTool);
    const quick = { pollIntervalMs: 20 };
    const run = await threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id }, quick);
    assert.equal(run.status, "requires_action");
    const outputs = ["call_1", "call_2"].map((id) => ({ tool_call_id: id, output: "wet" }));
    const done = await threads.runs.submitToolOutputsAndPoll(thread.id, run.id,
      { tool_outputs: outputs }, quick);
    assert.equal(done.status, "completed");
    const texts = [];
    for await (const message of threads.messages.list(thread.id, { order: "asc" }))
      texts.push(message.content[0].text.value);
    assert.deepEqual(texts, ["How is the weather?", "It is wet, wet."]);
    assert.deepEqual(
      (await threads.runs.steps.list(thread.id, run.id)).data.map((step) => step.type),
      ["message_creation", "tool_calls"]);
  });

  it("make a thread and run it", async () => {
    const { assistant } = await prepare();
    const stream = threads.createAndRunStream({
      assistant_id: assistant.id, thread: { messages: [user("Hi")] },
    });
    assert.equal((await stream.finalRun()).status, "completed");
  });

  it("are deleted", async () => {
    const { assistant, thread } = await prepare();
    assert.equal((await assistants.del(assistant.id)).deleted, true);
    assert.equal((await threads.del(thread.id)).deleted, true);
    await assert.rejects(threads.retrieve(thread.id), OpenAI.NotFoundError);
  });
});

describe("responses", () => {
  it("are created", async () => {
    const made = await client.responses.create({ model: "demo", input: "Hi" });
    assert.equal(made.output_text, hello);
  });

  it("are streamed", async () => {
    const stream = await client.responses.create({ model: "demo", input: "Hi", stream: true });
    const said = [];
    let last;
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") said.push(event.delta);
      last = event;
    }
    assert.equal(said.join(""), hello);
    assert.equal(last.type, "response.completed");
    assert.ok(last.response.usage.total_tokens > 0);
  });

  it("are gathered by the stream helper", async () => {
    const stream = client.responses.stream({ model: "demo", input: "Hi" });
    const { output } = await stream.finalResponse(); // which has no output_text in openai 4
    assert.equal(output[0].content[0].text, hello);
  });

  it("are shown, listed, cancelled and deleted", async () => {
    const made = await client.responses.parse({ model: "demo", input: "Hi" });
    assert.equal((await client.responses.retrieve(made.id)).output[0].content[0].text, hello);
    const items = [];
    for await (const item of client.responses.inputItems.list(made.id)) items.push(item);
    assert.equal(items[0].content[0].text, "Hi");
    await client.responses.del(made.id);
    await assert.rejects(client.responses.retrieve(made.id), OpenAI.NotFoundError);
    await answerWith({ text: "never", delay_ms: 3600000 });
    const slow = await client.responses.create({ model: "demo", input: "Hi", background: true });
    await client.responses.cancel(slow.id);
    assert.notEqual((await client.responses.retrieve(slow.id)).status, "completed");
  });

  it("call functions", async () => {
    await script(...weatherRules);
    const first = await client.responses.create({
      model: "demo", input: "weather?", tools: [weatherFlat],
    });
    const second = await client.responses.create({
      model: "demo", tools: [weatherFlat], previous_response_id: first.id,
      input: first.output.map((call) => ({
        type: "function_call_output", call_id: call.call_id, output: "dry",
      })),
    });
    assert.equal(second.output_text, "It is dry, dry.");
  });
});

describe("chat.completions", () => {
  it("pass through", async () => {
    const stream = client.beta.chat.completions.stream({ model: "demo", messages: [user("Hi")] });
    assert.equal(await stream.finalContent(), hello);
  });
});
