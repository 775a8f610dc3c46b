// Vector stores with openai 7: its helpers upload, attach and poll.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI, { toFile } from "openai";

import { options, script, user } from "./support.mjs";

const client = new OpenAI(options);
const text = (name, words) => toFile(Buffer.from(words), name);

describe("vector stores", () => {
  it("take files and batches that are polled, and are searched", async () => {
    const store = await client.vectorStores.create({ name: "Handbook" });
    const file = await client.vectorStores.files.uploadAndPoll(
      store.id, await text("电池.md", "电池的保修期为两年。"));
    assert.equal(file.status, "completed");
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files: [
      await text("a.md", "The battery warranty lasts two years."), await text("b.md", "Boil the rice."),
      await text("empty.md", "")] });
    assert.equal(batch.status, "completed");
    assert.deepEqual(batch.file_counts, { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 });
    const again = await client.vectorStores.files.createAndPoll(
      store.id, { file_id: file.id, attributes: { year: 2026 } });
    assert.deepEqual(again.attributes, { year: 2026 });
    const listed = [];
    for await (const one of client.vectorStores.files.list(store.id, { limit: 2 }))
      listed.push(one.id);
    assert.equal(listed.length, 4);
    const failed = await client.vectorStores.fileBatches.listFiles(
      batch.id, { vector_store_id: store.id, filter: "failed" });
    assert.equal(failed.data[0].last_error.message, "The file is empty.");
    const found = [];
    for await (const hit of client.vectorStores.search(store.id, {
      query: ["电池"], filters: { type: "gte", key: "year", value: 2026 } }))
      found.push(hit);
    assert.deepEqual(found.map((hit) => [hit.file_id, hit.content[0].text]), [[file.id, "电池的保修期为两年。"]]);
    const pages = await client.vectorStores.files.content(file.id, { vector_store_id: store.id });
    assert.equal(pages.data[0].text, "电池的保修期为两年。");
    assert.deepEqual(await client.vectorStores.delete(store.id),
                     { id: store.id, object: "vector_store.deleted", deleted: true });
  });

  it("of a thread take what its messages attach, and its run finds it", async () => {
    const file = await client.files.create({ file: await text("a.md", "The battery warranty lasts two years."),
      purpose: "assistants" });
    const assistant = await client.beta.assistants.create({ model: "demo", tools: [{ type: "file_search" }] });
    await script(
      { match: { tool_results: true }, answer: { text: "Two years【1:0†source】." } },
      { answer: { tool_calls: [{ name: "file_search", id: "call_1", arguments: { queries: ["battery"] } }] } });
    const run = await client.beta.threads.createAndRunPoll({
      assistant_id: assistant.id,
      thread: { messages: [{ ...user("How long?"), attachments: [{ file_id: file.id, tools: [{ type: "file_search" }] }] }] },
    });
    assert.equal(run.status, "completed");
    const { tool_resources: resources } = await client.beta.threads.retrieve(run.thread_id);
    const store = await client.vectorStores.retrieve(resources.file_search.vector_store_ids[0]);
    assert.deepEqual([store.file_counts.completed, store.expires_after], [1, { anchor: "last_active_at", days: 7 }]);
    const [message] = (await client.beta.threads.messages.list(run.thread_id)).data;
    const [citation] = message.content[0].text.annotations;
    assert.deepEqual([citation.text, citation.file_citation.file_id], ["【1:0†source】", file.id]);
  });

  it("are refused with OpenAI's errors", async () => {
    await assert.rejects(client.vectorStores.retrieve("vs_nothing"), (problem) =>
      problem instanceof OpenAI.NotFoundError
      && problem.message === "404 No vector store found with id 'vs_nothing'.");
  });
});
