// openai 7: its stream helpers refuse whatever is not exactly as OpenAI sends it. And openai 6, which npm installs on
// Node 20, where OPENAI_SDK names it.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { beforeEach, describe, it } from "node:test";

import {
  answerWith, collapsed, options, script, user, weatherCall, weatherFlat, weatherRules,
  weatherTool,
} from "./support.mjs";
import { everyOperation } from "./assistants.mjs";

const { default: OpenAI, toFile } = await import(process.env.OPENAI_SDK ?? "openai");
const isOld = process.env.OPENAI_SDK === "openai6";
const client = new OpenAI(options);
const { assistants, threads } = client.beta;
const hello = "Hello there, my friend.";

beforeEach(() => answerWith({ text: hello }));

everyOperation(client, {
  deleteAssistant: (id) => assistants.delete(id),
  deleteThread: (id) => threads.delete(id),
  message: (thread_id, id) => threads.messages.retrieve(id, { thread_id }),
  updateMessage: (thread_id, id, body) => threads.messages.update(id, { thread_id, ...body }),
  deleteMessage: (thread_id, id) => threads.messages.delete(id, { thread_id }),
  run: (thread_id, id) => threads.runs.retrieve(id, { thread_id }),
  updateRun: (thread_id, id, body) => threads.runs.update(id, { thread_id, ...body }),
  cancel: (thread_id, id) => threads.runs.cancel(id, { thread_id }),
  poll: (thread_id, id, how) => threads.runs.poll(id, { thread_id }, how),
  submit: (thread_id, id, body) => threads.runs.submitToolOutputs(id, { thread_id, ...body }),
  submitAndPoll: (thread_id, id, body, how) =>
    threads.runs.submitToolOutputsAndPoll(id, { thread_id, ...body }, how),
  submitStream: (thread_id, id, body) =>
    threads.runs.submitToolOutputsStream(id, { thread_id, ...body }),
  steps: (thread_id, id, query) => threads.runs.steps.list(id, { thread_id, ...query }),
  step: (thread_id, run_id, id) => threads.runs.steps.retrieve(id, { thread_id, run_id }),
}, OpenAI.NotFoundError);

async function gather(stream) {
  const events = [];
  stream.on("event", (event) => events.push(event));
  const response = await stream.finalResponse();
  return { events, response, types: collapsed(events.map((event) => event.type)) };
}

const ask = (more) => gather(client.responses.stream({ model: "demo", input: "Hi", ...more }));

describe("responses.stream()", () => {
  it("reads text to the end", async () => {
    const { response, types } = await ask();
    assert.equal(response.output_text, hello);
    assert.equal(response.status, "completed");
    assert.deepEqual(types, [
      "response.created", "response.in_progress", "response.output_item.added",
      "response.content_part.added", "response.output_text.delta", "response.output_text.done",
      "response.content_part.done", "response.output_item.done", "response.completed",
    ]);
  });

  it("accumulates snapshots of the text", async () => {
    const stream = client.responses.stream({ model: "demo", input: "Hi" });
    const snapshots = [];
    stream.on("response.output_text.delta", (event) => snapshots.push(event.snapshot));
    await stream.finalResponse();
    assert.equal(snapshots.at(-1), hello);
  });

  it("reads reasoning, a refusal, calls and text in one answer", async () => {
    await answerWith({
      reasoning: "let me see", text: "Well.", refusal: "I will not.",
      tool_calls: [weatherCall(1, "Paris"), weatherCall(2, "Rome")],
    });
    const { response } = await ask({ tools: [weatherFlat] });
    const types = response.output.map((item) => item.type);
    assert.deepEqual(types.filter((type) => type === "function_call").length, 2);
    assert.equal(types[0], "reasoning");
    assert.ok(types.includes("message"));
  });

  it("reads calls, and continues with their outputs", async () => {
    await script(...weatherRules);
    const first = await ask({ tools: [weatherFlat] });
    assert.deepEqual(first.response.output.map((call) => call.arguments),
      ['{"city":"Paris"}', '{"city":"Rome"}']);
    const second = await ask({
      previous_response_id: first.response.id, tools: [weatherFlat],
      input: first.response.output.map((call) => ({
        type: "function_call_output", call_id: call.call_id, output: "sunny",
      })),
    });
    assert.equal(second.response.output_text, "It is sunny, sunny.");
  });

  // The helper of openai 6 throws at OpenAI's own events of a shell's commands.
  it("reads the commands of a shell, and continues with what they printed", { skip: isOld }, async () => {
    await script(
      { match: { tool_results: true }, answer: { text: "Two files." } },
      { answer: { tool_calls: [{ name: "shell", id: "call_1",
                                 arguments: { commands: ["ls", "pwd"] } }] } },
    );
    const tools = [{ type: "shell", environment: { type: "local" } }];
    const first = await ask({ tools });
    assert.deepEqual(first.types.slice(2, -2), [
      "response.output_item.added",
      ...["ls", "pwd"].flatMap(() => ["added", "delta", "done"].map(
        (step) => `response.shell_call_command.${step}`)),
    ]);
    const [call] = first.response.output;
    assert.deepEqual([call.type, call.action.commands], ["shell_call", ["ls", "pwd"]]);
    const second = await ask({
      previous_response_id: first.response.id, tools,
      input: [{ type: "shell_call_output", call_id: call.call_id,
                output: [{ stdout: "a b", stderr: "", outcome: { type: "exit", exit_code: 0 } }] }],
    });
    assert.equal(second.response.output_text, "Two files.");
  });

  it("reads a patch, and goes on when it was applied", async () => {
    const operation = { type: "update_file", path: "a.js", diff: "@@\n-1\n+2" };
    await script(
      { match: { tool_results: true }, answer: { text: "Changed." } },
      { answer: { tool_calls: [{ name: "apply_patch", id: "call_1", arguments: operation }] } },
    );
    const tools = [{ type: "apply_patch" }];
    const first = await ask({ tools });
    const [call] = first.response.output;
    assert.deepEqual([call.type, call.operation], ["apply_patch_call", operation]);
    const second = await ask({
      previous_response_id: first.response.id, tools,
      input: [{ type: "apply_patch_call_output", call_id: call.call_id, status: "completed" }],
    });
    assert.equal(second.response.output_text, "Changed.");
  });

  it("reads both items of a patch that the server has applied", { skip: process.env.NO_SANDBOX }, async () => {
    const operation = { type: "create_file", path: "a.js", diff: "+1" };
    await script(
      { match: { tool_results: true }, answer: { text: "Made." } },
      { answer: { tool_calls: [{ name: "apply_patch", id: "call_1", arguments: operation }] } },
    );
    const { response, types } = await ask({ tools: [{ type: "apply_patch", runnel: { execute: true } }] });
    const step = ["response.output_item.added", "response.output_item.done"];
    assert.deepEqual(types.slice(2, 6), [...step, ...step]);
    const [call, output] = response.output;
    assert.deepEqual([call.type, call.operation, call.call_id], ["apply_patch_call", operation, output.call_id]);
    assert.deepEqual([output.type, output.status, output.output], ["apply_patch_call_output", "completed", "Created a.js"]);
  });

  it("reads a computer's actions and a search for tools", async () => {
    await answerWith({ tool_calls: [
      { name: "computer", id: "call_1", arguments: { actions: [{ type: "screenshot" }] } },
      { name: "tool_search", id: "call_2", arguments: { query: "mail" } },
    ] });
    const { response } = await ask({
      tools: [{ type: "computer" }, { type: "tool_search", execution: "client" }],
    });
    assert.deepEqual(response.output.map((item) => item.type),
      ["computer_call", "tool_search_call"]);
  });

  it("reads a custom tool's input", async () => {
    await answerWith({ tool_calls: [{ name: "run_sql", id: "call_1",
                                      arguments: { input: "select 1" } }] });
    const { response } = await ask({ tools: [{ type: "custom", name: "run_sql" }] });
    assert.equal(response.output[0].type, "custom_tool_call");
    assert.equal(response.output[0].input, "select 1");
  });

  it("reads an incomplete answer", async () => {
    await answerWith({ text: "Once upon", finish_reason: "length" });
    const { response, types } = await ask();
    assert.equal(response.status, "incomplete");
    assert.equal(response.incomplete_details.reason, "max_output_tokens");
    assert.equal(types.at(-1), "response.incomplete");
  });

  it("sees a failure as a status or as an error, and ends", async () => {
    await answerWith({ text: "a b c", fault: { kind: "cut", after: 2 } });
    try {
      const { response } = await ask();
      assert.equal(response.status, "failed");
      assert.equal(response.error.code, "server_error");
    } catch (error) {
      assert.ok(error instanceof OpenAI.APIError, String(error));
    }
  });

  it("parses a structured answer", async () => {
    await answerWith({ text: '{"city":"Paris"}' });
    const response = await client.responses.parse({
      model: "demo", input: "Hi",
      text: {
        format: {
          type: "json_schema", name: "place", schema: weatherFlat.parameters, strict: true,
        },
      },
    });
    assert.deepEqual(JSON.parse(response.output_text), { city: "Paris" });
    assert.equal(response.text.format.name, "place");
  });

  it("replays a background response", async () => {
    const made = await client.responses.create({
      model: "demo", input: "Hi", background: true, stream: true,
    });
    let id;
    for await (const event of made) id ??= event.response?.id;
    const { response } = await gather(client.responses.stream({ response_id: id }));
    assert.equal(response.output_text, hello);
  });

  it("can be aborted", async () => {
    await answerWith({ text: "a b c", piece_delay_ms: 3600000 });
    const stream = client.responses.stream({ model: "demo", input: "Hi" });
    stream.on("response.output_text.delta", () => stream.abort());
    await assert.rejects(stream.finalResponse(), OpenAI.APIUserAbortError);
  });
});


describe("responses", () => {
  it("are created, shown, listed and deleted", async () => {
    const made = await client.responses.create({ model: "demo", input: "Hi" });
    assert.equal(made.output_text, hello);
    assert.ok(made._request_id.startsWith("req_"));
    assert.equal((await client.responses.retrieve(made.id)).output_text, hello);
    const items = [];
    for await (const item of client.responses.inputItems.list(made.id)) items.push(item);
    assert.equal(items[0].content[0].text, "Hi");
    await client.responses.delete(made.id);
    await assert.rejects(client.responses.retrieve(made.id), OpenAI.NotFoundError);
  });

  it("are made with a prompt template", async () => {
    const made = await client.post("/runnel/prompts", {
      body: { model: "demo", input: [{ role: "user", content: "I am {{name}}." }] },
    });
    const { response } = await gather(client.responses.stream({
      prompt: { id: made.id, variables: { name: "Ann" } },
    }));
    assert.equal(response.output_text, hello);
    assert.equal(response.prompt.version, "1");
    assert.equal(response.instructions[0].content[0].text, "I am Ann.");
  });

  it("make a long context short before they go on", async () => {
    await script(
      { match: { user: "will be replaced by your summary" }, answer: { text: "They met." } },
      { answer: { text: hello } });
    const long = { role: "assistant", content: "b".repeat(8000) };
    const { response, types } = await ask({
      input: [user("Hello"), long, user("And now?")],
      context_management: [{ type: "compaction", compact_threshold: 1000 }],
    });
    assert.deepEqual(response.output.map((item) => item.type), ["compaction", "message"]);
    assert.deepEqual(types.slice(2, 4), ["response.output_item.added", "response.output_item.done"]);
    const next = await ask({ input: [...response.output, user("Then?")] });
    assert.equal(next.response.output_text, hello);

    const window = await client.responses.compact({ model: "demo", input: [user("Hello"), long] });
    assert.deepEqual(window.output.map((item) => item.type), ["message", "compaction"]);
    assert.ok(window.usage.total_tokens > 0);
    const last = await ask({ input: [...window.output, user("Then?")] });
    assert.equal(last.response.output_text, hello);
  });

  it("show the progress of a compaction that was requested", { skip: isOld }, async () => {
    await script({ answer: { text: "They met. ".repeat(50) } });
    const { types, response } = await ask({ input: [user("Hello"), { type: "compaction_trigger" }] });
    assert.deepEqual(types.slice(2), [
      "response.output_item.added", "response.compaction.compacting", "response.output_item.done",
      "response.completed",
    ]);
    assert.deepEqual(response.output.map((item) => item.type), ["compaction"]);
  });

  it("say beforehand what they cost", async () => {
    const counted = await client.responses.inputTokens.count({ model: "demo", input: "Hi" });
    assert.equal(counted.object, "response.input_tokens");
    assert.ok(counted.input_tokens > 0);
  });
});

async function prepare(...tools) {
  const assistant = await assistants.create({ model: "demo", tools });
  const thread = await threads.create({ messages: [user("How is the weather?")] });
  return { assistant, thread };
}

describe("beta.threads.runs.stream()", () => {
  it("reads text to the end", async () => {
    const { assistant, thread } = await prepare();
    const stream = threads.runs.stream(thread.id, { assistant_id: assistant.id });
    const said = [];
    stream.on("textDelta", (delta) => said.push(delta.value));
    const run = await stream.finalRun();
    assert.equal(run.status, "completed");
    assert.equal(said.join(""), hello);
    const [message] = await stream.finalMessages();
    assert.equal(message.content[0].text.value, hello);
    const [step] = await stream.finalRunSteps();
    assert.equal(step.type, "message_creation");
  });

  it("reads calls, and continues with their outputs", async () => {
    await script(...weatherRules);
    const { assistant, thread } = await prepare(weatherTool);
    const first = threads.runs.stream(thread.id, { assistant_id: assistant.id });
    const run = await first.finalRun();
    assert.equal(run.status, "requires_action");
    const [step] = await first.finalRunSteps();
    assert.deepEqual(step.step_details.tool_calls.map((call) => [call.id, call.function.arguments]),
      [["call_1", '{"city":"Paris"}'], ["call_2", '{"city":"Rome"}']]);
    const second = threads.runs.submitToolOutputsStream(run.id, {
      thread_id: thread.id,
      tool_outputs: ["call_1", "call_2"].map((id) => ({ tool_call_id: id, output: "sunny" })),
    });
    assert.equal((await second.finalRun()).status, "completed");
    const [message] = await second.finalMessages();
    assert.equal(message.content[0].text.value, "It is sunny, sunny.");
  });

  it("reads a thread and its run", async () => {
    const { assistant } = await prepare();
    const stream = threads.createAndRunStream({
      assistant_id: assistant.id, thread: { messages: [user("Hi")] },
    });
    const names = [];
    stream.on("event", (event) => names.push(event.event));
    assert.equal((await stream.finalRun()).status, "completed");
    assert.equal(names[0], "thread.created");
  });

  it("reads a failure to the end", async () => {
    await answerWith({ text: "a b c", fault: { kind: "cut", after: 2 } });
    const { assistant, thread } = await prepare();
    const run = await threads.runs.stream(thread.id, { assistant_id: assistant.id }).finalRun();
    assert.equal(run.status, "failed");
    assert.equal(run.last_error.code, "server_error");
  });

  it("reads an incomplete answer to the end", async () => {
    await answerWith({ text: "Once upon", finish_reason: "length" });
    const { assistant, thread } = await prepare();
    const run = await threads.runs.stream(thread.id, { assistant_id: assistant.id }).finalRun();
    assert.equal(run.status, "incomplete");
  });
});

describe("conversations", () => {
  const texts = async (id) => {
    const found = [];
    for await (const item of client.conversations.items.list(id, { order: "asc", limit: 2 }))
      found.push([item.role, item.content[0].text]);
    return found;
  };

  it("hold what was said, over several streams", async () => {
    const { id } = await client.conversations.create({
      metadata: { a: "1" }, items: [user("I am Ann.")],
    });
    for (const input of ["Who am I?", "Sure?"]) {
      const { response } = await ask({ conversation: id, input });
      assert.equal(response.conversation.id, id);
    }
    assert.deepEqual(await texts(id), [
      ["user", "I am Ann."], ["user", "Who am I?"], ["assistant", hello], ["user", "Sure?"],
      ["assistant", hello],
    ]);
  });

  it("are changed and deleted", async () => {
    const { id } = await client.conversations.create();
    const { data } = await client.conversations.items.create(id, { items: [user("Hi")] });
    const item = await client.conversations.items.retrieve(data[0].id, { conversation_id: id });
    assert.deepEqual(item, data[0]);
    await client.conversations.items.delete(item.id, { conversation_id: id });
    assert.deepEqual(await texts(id), []);
    const changed = await client.conversations.update(id, { metadata: { b: "2" } });
    assert.deepEqual(await client.conversations.retrieve(id), changed);
    assert.equal((await client.conversations.delete(id)).deleted, true);
    await assert.rejects(client.conversations.retrieve(id), OpenAI.NotFoundError);
  });

  it("say when they are busy", async () => {
    await answerWith({ text: "one two three four", piece_delay_ms: 200 });
    const { id } = await client.conversations.create();
    const stream = client.responses.stream({ model: "demo", input: "Hi", conversation: id });
    await new Promise((begun) => stream.once("response.created", begun));
    await assert.rejects(ask({ conversation: id }), { code: "conversation_locked" });
    assert.equal((await stream.finalResponse()).status, "completed");
  });
});

describe("beta.threads", () => {
  it("polls a run", async () => {
    const { assistant, thread } = await prepare();
    const run = await threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id },
      { pollIntervalMs: 20 });
    assert.equal(run.status, "completed");
    const messages = await threads.messages.list(thread.id);
    assert.equal(messages.data[0].content[0].text.value, hello);
  });

  it("shows errors by class", async () => {
    await assert.rejects(threads.retrieve("thread_000000000000000000000000"), OpenAI.NotFoundError);
    await assert.rejects(assistants.create({}), OpenAI.BadRequestError);
    await assert.rejects(new OpenAI({ ...options, apiKey: "sk-no" }).models.list(),
      OpenAI.AuthenticationError);
  });
});

describe("chat.completions and models", () => {
  it("pass through", async () => {
    const stream = client.chat.completions.stream({ model: "demo", messages: [user("Hi")] });
    assert.equal((await stream.finalChatCompletion()).choices[0].message.content, hello);
    assert.deepEqual((await client.models.list()).data.map((model) => model.id), ["demo"]);
  });
  it("have embeddings, pictures and sound beside them", async () => {
    const { data } = await client.embeddings.create({ model: "demo", input: ["one", "two"], dimensions: 8 });
    assert.deepEqual(data.map((item) => item.embedding.length), [8, 8]);
    const types = [];
    for await (const event of await client.images.generate({ model: "demo", prompt: "a cat", stream: true }))
      types.push(event.type);
    assert.deepEqual(types, ["image_generation.completed"]);
    const sound = await client.audio.speech.create({ model: "demo", voice: "alloy", input: "Hi" });
    assert.equal((await sound.text()).slice(0, 4), "RIFF");
    const written = await client.audio.transcriptions.create({ model: "demo", file: await toFile(Buffer.from("RIFF"), "a.wav") });
    assert.equal(written.text, "A recording of 4 bytes: a.wav");
    const words = [];
    const recording = await toFile(Readable.from([Buffer.alloc(100000), Buffer.alloc(3)]), "报告 \"a\".wav");
    for await (const event of await client.audio.transcriptions.create({ model: "demo", file: recording, stream: true }))
      if (event.type === "transcript.text.delta") words.push(event.delta);
    assert.equal(words.join(""), "A recording of 100003 bytes: 报告 \"a\".wav");
    const changed = await client.images.edit({ model: "demo", image: [await toFile(Buffer.from("PNG"), "a.png")], prompt: "a hat" });
    assert.equal(changed.data.length, 1);
    const pieces = [];
    for await (const piece of await client.completions.create({ model: "demo", prompt: "Hi", stream: true }))
      pieces.push(piece.choices[0].text);
    assert.equal(pieces.join(""), hello);
  });
});
