// Files as openai 7 uploads them: before their purpose, chunked, and without a length.

import assert from "node:assert/strict";
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
