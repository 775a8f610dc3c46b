// Every operation of the Assistants API, and every helper that the SDK has for them, each at least
// once. `sdk` gives what the versions call differently one name; arguments go from the outside in.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { answerWith, script, user, weatherRules, weatherTool } from "./support.mjs";

const quick = { pollIntervalMs: 20 };
const outputs = { tool_outputs: ["call_1", "call_2"].map((id) => ({ tool_call_id: id, output: "wet" })) };

async function all(list) {
  const found = [];
  for await (const entry of list) found.push(entry);
  return found;
}

async function eventsOf(stream) {
  return (await all(await stream)).map((event) => event.event);
}

export function everyOperation(client, sdk, NotFoundError) {
  const { assistants, threads } = client.beta;
  const { runs, messages } = threads;

  async function upload(bytes) {
    return (await client.files.create({ file: new File([bytes], "a"), purpose: "assistants" })).id;
  }

  async function newStore() {
    return (await client.post("/vector_stores", { body: {} })).id;
  }

  async function prepare(...tools) {
    const assistant = await assistants.create({ model: "demo", tools });
    const thread = await threads.create({ messages: [user("How is the weather?")] });
    return { assistant_id: assistant.id, thread: thread.id };
  }

  async function waiting() {
    await script(...weatherRules);
    const { assistant_id, thread } = await prepare(weatherTool);
    const run = await runs.createAndPoll(thread, { assistant_id }, quick);
    assert.equal(run.status, "requires_action");
    return { thread, run: run.id };
  }

  describe("every operation", () => {
    it("of assistants", async () => {
      const made = await assistants.create({
        model: "demo", name: "A", instructions: "Be brief.", metadata: { a: "1" },
        tools: [weatherTool, { type: "file_search" }, { type: "code_interpreter" }],
        tool_resources: { code_interpreter: { file_ids: [await upload("a")] } },
        response_format: { type: "json_object" }, temperature: 0.5, top_p: 0.25,
      });
      assert.deepEqual(await assistants.retrieve(made.id), made);
      const changed = await assistants.update(made.id, { name: "B", metadata: { b: "2" } });
      assert.deepEqual(changed, { ...made, name: "B", metadata: { b: "2" } });
      const listed = await all(assistants.list({ limit: 1, order: "asc", after: made.id }));
      assert.ok(listed.every((assistant) => assistant.id > made.id));
      assert.deepEqual((await assistants.list({ limit: 1 })).data, [changed]);
      assert.deepEqual(await sdk.deleteAssistant(made.id),
        { id: made.id, object: "assistant.deleted", deleted: true });
      await assert.rejects(assistants.retrieve(made.id), NotFoundError);
    });

    it("of threads", async () => {
      assert.equal((await threads.create()).object, "thread");
      const made = await threads.create({ metadata: { a: "1" } });
      const store = await newStore();
      assert.deepEqual(await threads.retrieve(made.id), made);
      const changed = await threads.update(made.id, {
        metadata: { b: "2" }, tool_resources: { file_search: { vector_store_ids: [store] } },
      });
      assert.deepEqual(changed.metadata, { b: "2" });
      assert.deepEqual(changed.tool_resources.file_search.vector_store_ids, [store]);
      assert.deepEqual(await sdk.deleteThread(made.id),
        { id: made.id, object: "thread.deleted", deleted: true });
    });

    it("of messages", async () => {
      const { id } = await threads.create();
      const file = await upload("a");
      const picture = await upload(Buffer.from("iVBORw0KGgo=", "base64"));
      const made = await messages.create(id, {
        role: "user", metadata: { a: "1" },
        attachments: [{ file_id: file, tools: [{ type: "file_search" }] }],
        content: [
          { type: "text", text: "Look:" },
          { type: "image_url", image_url: { url: "https://example.org/a.png", detail: "low" } },
          { type: "image_file", image_file: { file_id: picture } },
        ],
      });
      assert.deepEqual(made.content.map((part) => part.type), ["text", "image_url", "image_file"]);
      assert.equal(made.attachments[0].file_id, file);
      assert.deepEqual(await sdk.message(id, made.id), made);
      const changed = await sdk.updateMessage(id, made.id, { metadata: { b: "2" } });
      assert.deepEqual(changed, { ...made, metadata: { b: "2" } });
      const second = await messages.create(id, { role: "assistant", content: "Fine." });
      assert.deepEqual(await all(messages.list(id, { limit: 1, order: "asc" })), [changed, second]);
      assert.deepEqual((await messages.list(id, { before: made.id })).data, [second]);
      assert.equal((await sdk.deleteMessage(id, made.id)).object, "thread.message.deleted");
      assert.deepEqual(await all(messages.list(id)), [second]);
    });

    it("of runs and their steps", async () => {
      const { thread, run } = await waiting();
      const found = await sdk.run(thread, run);
      const changed = await sdk.updateRun(thread, run, { metadata: { a: "1" } });
      assert.deepEqual(changed, { ...found, metadata: { a: "1" } });
      assert.deepEqual(await all(runs.list(thread, { limit: 1 })), [changed]);
      const [step] = await all(sdk.steps(thread, run, { order: "asc", limit: 1 }));
      assert.deepEqual(await sdk.step(thread, run, step.id), step);
      assert.equal(step.step_details.tool_calls.length, 2);
      assert.equal((await sdk.submit(thread, run, outputs)).status, "queued");
      assert.equal((await sdk.poll(thread, run, quick)).status, "completed");
      const said = await all(messages.list(thread, { run_id: run }));
      assert.deepEqual(said.map((message) => message.content[0].text.value), ["It is wet, wet."]);
      assert.equal((await all(sdk.steps(thread, run))).length, 2);
    });

    it("of runs that are cancelled", async () => {
      const { thread, run } = await waiting();
      assert.equal((await sdk.cancel(thread, run)).status, "cancelling");
      assert.equal((await sdk.poll(thread, run, quick)).status, "cancelled");
    });
  });

  describe("every way to begin a run, and to go on", () => {
    const completed = (run) => assert.equal(run.status, "completed");

    it("with nothing but the answer", async () => {
      const { assistant_id, thread } = await prepare();
      const run = await runs.create(thread, {
        assistant_id, additional_instructions: "In French.", max_prompt_tokens: 1000,
        max_completion_tokens: 1000, truncation_strategy: { type: "last_messages", last_messages: 5 },
        additional_messages: [user("Please.")], tool_choice: "none", parallel_tool_calls: false,
      });
      assert.equal(run.status, "queued");
      completed(await sdk.poll(thread, run.id, quick));
      const other = await threads.createAndRun({ assistant_id, thread: { messages: [user("Hi")] } });
      completed(await sdk.poll(other.thread_id, other.id, quick));
    });

    it("with the events themselves", async () => {
      const { assistant_id, thread } = await prepare();
      const names = await eventsOf(runs.create(thread, { assistant_id, stream: true }));
      assert.deepEqual([names[0], names.at(-1)], ["thread.run.created", "thread.run.completed"]);
      const both = await eventsOf(threads.createAndRun({ assistant_id, stream: true }));
      assert.deepEqual([both[0], both.at(-1)], ["thread.created", "thread.run.completed"]);
      const { thread: asked, run } = await waiting();
      const rest = await eventsOf(sdk.submit(asked, run, { ...outputs, stream: true }));
      assert.deepEqual([rest[0], rest.at(-1)], ["thread.run.step.completed", "thread.run.completed"]);
    });

    it("with helpers that poll", async () => {
      const { assistant_id, thread } = await prepare();
      completed(await runs.createAndPoll(thread, { assistant_id }, quick));
      completed(await threads.createAndRunPoll({ assistant_id, thread: { messages: [user("Hi")] } },
        quick));
      const asked = await waiting();
      completed(await sdk.submitAndPoll(asked.thread, asked.run, outputs, quick));
    });

    it("with helpers that stream", async () => {
      const { assistant_id, thread } = await prepare();
      completed(await runs.stream(thread, { assistant_id }).finalRun());
      completed(await runs.createAndStream(thread, { assistant_id }).finalRun());
      completed(await threads.createAndRunStream({ assistant_id }).finalRun());
      const asked = await waiting();
      completed(await sdk.submitStream(asked.thread, asked.run, outputs).finalRun());
    });

    it("and what they gather is what is stored", async () => {
      await answerWith({ text: "one two three four five six", piece_delay_ms: 1 });
      const { assistant_id, thread } = await prepare();
      const stream = runs.stream(thread, { assistant_id });
      const [gathered] = await stream.finalMessages();
      const run = await stream.finalRun();
      const stored = await sdk.message(thread, gathered.id);
      assert.deepEqual(stored.content[0].text, gathered.content[0].text);
      assert.deepEqual(await sdk.run(thread, run.id), run);
    });
  });
}
