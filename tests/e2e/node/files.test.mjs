// Files as openai 7 uploads them: before their purpose, chunked, and without a length.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import OpenAI, { toFile } from "openai";

import { options } from "./support.mjs";

const client = new OpenAI(options);

describe("files that are uploaded", () => {
  it("from a stream, whose length nobody says", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "runnel-files-")), "报告 \"a\".md");
    const text = "Four score and seven years ago.\n".repeat(100_000);
    writeFileSync(path, text);
    const made = await client.files.create({
      file: createReadStream(path), purpose: "assistants",
      expires_after: { anchor: "created_at", seconds: 3600 } });
    assert.equal(made.filename, "报告 \"a\".md");
    assert.equal(made.bytes, text.length);
    assert.equal(made.expires_at, made.created_at + 3600);
    assert.deepEqual(await client.files.retrieve(made.id), made);
    assert.deepEqual(await client.files.waitForProcessing(made.id), made);
    assert.equal(await (await client.files.content(made.id)).text(), text);
    assert.deepEqual(await client.files.delete(made.id), { id: made.id, object: "file", deleted: true });
    await assert.rejects(client.files.retrieve(made.id), (problem) =>
      problem instanceof OpenAI.NotFoundError && problem.param === "id"
      && problem.message === `404 No such File object: ${made.id}`);
  });

  it("from memory, without a name, and are listed in pages", async () => {
    const made = [];
    for (let i = 0; i < 3; i++)
      made.push((await client.files.create({ file: await toFile(Buffer.from("x")), purpose: "evals" })).id);
    const listed = [];
    for await (const file of client.files.list({ purpose: "evals", limit: 2, order: "asc" }))
      listed.push(file);
    assert.deepEqual(listed.map((file) => file.id).slice(-3), made);
    assert.equal(listed.at(-1).filename, "unknown_file");
  });

  it("are refused with OpenAI's errors", async () => {
    await assert.rejects(
      client.files.create({ file: await toFile(Buffer.from("x"), "a.txt"), purpose: "nonsense" }),
      (problem) => problem instanceof OpenAI.BadRequestError && problem.param === "purpose"
        && problem.code === "invalid_value");
  });
});

describe("files that come in parts", () => {
  it("are put together in the order of the completion", async () => {
    const upload = await client.uploads.create({
      filename: "big.bin", purpose: "user_data", bytes: 200_000, mime_type: "application/octet-stream",
      expires_after: { anchor: "created_at", seconds: 3600 } });
    assert.equal(upload.status, "pending");
    assert.equal(upload.file, null);
    const pieces = [Buffer.alloc(100_000, "a"), Buffer.alloc(100_000, "b")];
    const [second, first] = await Promise.all([pieces[1], pieces[0]].map(async (piece) =>
      client.uploads.parts.create(upload.id, { data: await toFile(piece) })));
    const md5 = createHash("md5").update(Buffer.concat(pieces)).digest("hex");
    await assert.rejects(client.uploads.complete(upload.id, { part_ids: [second.id, first.id], md5 }), (problem) =>
      problem instanceof OpenAI.BadRequestError && problem.code === "md5_mismatch" && problem.param === "md5");
    const done = await client.uploads.complete(upload.id, { part_ids: [first.id, second.id], md5 });
    assert.equal(done.status, "completed");
    assert.deepEqual(await client.files.retrieve(done.file.id), done.file);
    assert.equal(done.file.expires_at, done.file.created_at + 3600);
    const bytes = Buffer.from(await (await client.files.content(done.file.id)).arrayBuffer());
    assert.ok(bytes.equals(Buffer.concat(pieces)));
  });

  it("are given up", async () => {
    const upload = await client.uploads.create({ filename: "a", purpose: "evals", bytes: 3, mime_type: "pdf" });
    assert.equal((await client.uploads.cancel(upload.id)).status, "cancelled");
    assert.equal((await client.uploads.cancel(upload.id)).status, "cancelled");
    await assert.rejects(client.uploads.parts.create(upload.id, { data: await toFile(Buffer.from("x")) }), (problem) =>
      problem instanceof OpenAI.BadRequestError && problem.code === "upload_not_pending");
  });
});

describe("containers", () => {
  it("are made, filled, listed, read and deleted", async () => {
    const upload = await client.files.create({ file: await toFile(Buffer.from("a,b\n"), "ab.csv"), purpose: "user_data" });
    const box = await client.containers.create({
      name: "node", file_ids: [upload.id], expires_after: { anchor: "last_active_at", minutes: 5 } });
    assert.deepEqual([box.status, box.memory_limit, box.network_policy], ["running", "1g", { type: "disabled" }]);
    const made = await client.containers.files.create(box.id, { file: await toFile(Buffer.from("x"), "x.txt") });
    assert.equal(made.path, "/mnt/data/x.txt");
    const again = await client.containers.files.create(box.id, { file_id: upload.id });
    assert.deepEqual([again.path, again.source], ["/mnt/data/ab.csv", "user"]);
    const listed = [];
    for await (const file of client.containers.files.list(box.id, { limit: 1, order: "asc" }))
      listed.push(file.id);
    assert.deepEqual(listed, [again.id, made.id]);
    const content = await client.containers.files.content.retrieve(made.id, { container_id: box.id });
    assert.equal(await content.text(), "x");
    await client.containers.files.delete(made.id, { container_id: box.id });
    await assert.rejects(client.containers.files.retrieve(made.id, { container_id: box.id }), { status: 404 });
    await client.containers.delete(box.id);
    await assert.rejects(client.containers.retrieve(box.id), { status: 404 });
  });
});
