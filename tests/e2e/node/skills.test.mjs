// F107: skills as openai 7 uploads them, and as models read them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI, { toFile } from "openai";

import { modelRequests, options, script } from "./support.mjs";

const client = new OpenAI(options);
const instructions = "---\nname: mail\ndescription: How mail is written.\n---\nBe kind.\n";

describe("skills that are uploaded", () => {
  it("one file alone", async () => {
    const made = await client.skills.create({ files: await toFile(Buffer.from(instructions), "SKILL.md") });
    assert.deepEqual([made.object, made.name, made.description], ["skill", "mail", "How mail is written."]);
    const content = await client.skills.content.retrieve(made.id, { headers: { Accept: "text/markdown" } });
    assert.equal(await content.text(), instructions);
  });

  it("come back as a zip, which makes another skill and a version", async () => {
    const made = await client.skills.create({ files: await toFile(Buffer.from(instructions), "SKILL.md") });
    const zip = Buffer.from(await (await client.skills.content.retrieve(made.id)).arrayBuffer());
    assert.equal(zip.subarray(0, 4).toString("latin1"), "PK\x03\x04");
    const copy = await client.skills.create({ files: await toFile(zip, "mail.zip") });
    assert.deepEqual([copy.name, copy.default_version], ["mail", "1"]);
    const version = await client.skills.versions.create(copy.id, { files: await toFile(zip, "mail.zip"), default: true });
    assert.deepEqual([version.version, version.skill_id], ["2", copy.id]);
    assert.equal((await client.skills.retrieve(copy.id)).default_version, "2");
    assert.deepEqual((await client.skills.versions.list(copy.id)).data.map((one) => one.version), ["2", "1"]);
    const gone = await client.skills.versions.delete("1", { skill_id: copy.id });
    assert.deepEqual([gone.deleted, gone.version], [true, "1"]);
  });

  it("a folder, whose files the model reads", async () => {
    const made = await client.skills.create({ files: [
      await toFile(Buffer.from(instructions), "mail/SKILL.md"),
      await toFile(Buffer.from("Dear all,"), "mail/words/greeting.txt"),
    ] });
    await script(
      { match: { tool_results: true }, answer: { text: "ok" } },
      { answer: { tool_calls: [{ name: "skill", id: "call_1",
                                 arguments: { name: "mail", file: "words/greeting.txt" } }] } },
    );
    const response = await client.responses.create(
      { model: "demo", input: "go", runnel: { skills: [made.id] } });
    assert.equal(response.output.find((item) => item.type === "mcp_call").output, "Dear all,");
    assert.equal((await modelRequests()).at(-1).messages.at(-1).content, "Dear all,");
  });

  it("are refused by their place", async () => {
    await assert.rejects(
      client.skills.create({ files: [await toFile(Buffer.from(instructions), "mail/README.md")] }),
      (problem) => problem instanceof OpenAI.BadRequestError && problem.param === "files");
  });
});

describe("skills in a container", { skip: process.env.NO_SANDBOX }, () => {
  const shell = async (environment) => {
    await script(
      { match: { tool_results: true }, answer: { text: "ok" } },
      { answer: { tool_calls: [{ name: "shell", id: "call_1", arguments: { commands: ["tail -n 1 /mnt/skills/*/SKILL.md"] } }] } },
    );
    return client.responses.stream({ model: "demo", input: "go", tools: [{ type: "shell", environment }] }).finalResponse();
  };

  it("are named, and read by commands", async () => {
    const made = await client.skills.create({ files: await toFile(Buffer.from(instructions), "SKILL.md") });
    const container = await client.containers.create({
      name: "box", skills: [{ type: "skill_reference", skill_id: made.id, version: "latest" }] });
    const response = await shell({ type: "container_reference", container_id: container.id });
    assert.equal(response.output[1].output[0].stdout, "Be kind.\n");
  });

  it("come with a response, which shows its container", async () => {
    const made = await client.skills.create({ files: await toFile(Buffer.from(instructions), "SKILL.md") });
    const zip = Buffer.from(await (await client.skills.content.retrieve(made.id)).arrayBuffer());
    const response = await shell({ type: "container_auto", skills: [{
      type: "inline", name: "mail", description: "How mail is written.",
      source: { type: "base64", media_type: "application/zip", data: zip.toString("base64") } }] });
    assert.equal(response.output[1].output[0].stdout, "Be kind.\n");
    assert.deepEqual(response.tools[0].environment, response.output[0].environment);
    assert.equal(response.tools[0].environment.type, "container_reference");
  });
});
