// The stream helper of the Assistants API gathers text and annotations as the message has them, however the
// upstream cuts the marks. That of the Responses API is in golden.test.mjs.

import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";

import { options, script, user } from "./support.mjs";

const client = new OpenAI(options);
const tool = { type: "mcp", server_label: "test", server_url: "builtin:test", require_approval: "never",
  allowed_tools: ["test_cite"] };
const passages = [{ file_id: "file-a", filename: "a.md", text: "One." }, { file_id: "file-b", filename: "b.md", text: "Two." }];
const said = "保修两年【1:0†source】。[1:1†x]【注意】 Both【1:0,1:1】";
const kept = "保修两年【1:0†source】。【1:1†source】【注意】 Both【1:0†source】【1:1†source】";

for (const size of [1, 2, 3, 5, 8, said.length]) {
  test(`pieces of ${size}`, async () => {
    const pieces = [];
    for (let at = 0; at < said.length; at += size) pieces.push(said.slice(at, at + size));
    await script(
      { match: { tool_results: true }, answer: { text: pieces } },
      { answer: { tool_calls: [{ name: "test_cite", id: "call_1", arguments: { passages } }] } });
    const assistant = await client.beta.assistants.create({ model: "demo", tools: [tool] });
    const thread = await client.beta.threads.create({ messages: [user("Hi")] });
    const stream = client.beta.threads.runs.stream(thread.id, { assistant_id: assistant.id });
    const [message] = await stream.finalMessages();
    const { value, annotations } = message.content[0].text;
    assert.equal(value, kept);
    assert.deepEqual(annotations.map((a) => [...value].slice(a.start_index, a.end_index).join("")),
      annotations.map((a) => a.text));
    assert.deepEqual(annotations.map((a) => a.file_citation.file_id), ["file-a", "file-b", "file-a", "file-b"]);
    const stored = await client.beta.threads.messages.retrieve(message.id, { thread_id: thread.id });
    assert.deepEqual(stored.content[0].text.value, value);
    // The helper leaves the index of the list in what it has gathered.
    assert.deepEqual(stored.content[0].text.annotations,
      annotations.map(({ index, ...annotation }) => annotation));
  });
}
