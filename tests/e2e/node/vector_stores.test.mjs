// Vector stores with openai 7: its helpers upload, attach and poll.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI, { toFile } from "openai";

import { options } from "./support.mjs";

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

  it("are refused with OpenAI's errors", async () => {
    await assert.rejects(client.vectorStores.retrieve("vs_nothing"), (problem) =>
      problem instanceof OpenAI.NotFoundError
      && problem.message === "404 No vector store found with id 'vs_nothing'.");
  });
});
