// Every method that openai 7 has for responses and conversations. One that a new version brings
// fails the last test until it is tried here.

import assert from "node:assert/strict";
import { after, beforeEach, describe, it } from "node:test";

import OpenAI from "openai";

import { answerWith, options, user } from "./support.mjs";

const client = new OpenAI(options);
const hello = "Hello there, my friend.";
const say = (text) => ({ type: "message", ...user(text) });

// ---- Which methods were called ----

const resources = {
  "responses": client.responses,
  "responses.inputItems": client.responses.inputItems,
  "responses.inputTokens": client.responses.inputTokens,
  "conversations": client.conversations,
  "conversations.items": client.conversations.items,
};
const untried = new Set();

for (const [path, resource] of Object.entries(resources)) {
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
    if (name === "constructor" || name.startsWith("_")) continue;
    const method = resource[name];
    untried.add(`${path}.${name}`);
    resource[name] = function (...given) {
      untried.delete(`${path}.${name}`);
      return method.apply(this, given);
    };
  }
}
untried.delete("responses.compact"); // has tests of its own

beforeEach(() => answerWith({ text: hello }));

async function every(list) {
  const found = [];
  for await (const entry of await list) found.push(entry);
  return found;
}

const notFound = (promise) => assert.rejects(promise, OpenAI.NotFoundError);

function refused(promise, message, code = null, param = null) {
  return assert.rejects(promise, (problem) => {
    assert.ok(problem instanceof OpenAI.BadRequestError);
    assert.deepEqual([problem.error.message, problem.code, problem.param], [message, code, param]);
    return true;
  });
}

// What an answer has besides the object itself.
const bare = (object) => JSON.parse(JSON.stringify(object));

describe("responses", () => {
  it("are made, shown and deleted", async () => {
    const made = await client.responses.create({ model: "demo", input: "Hi" });
    assert.equal(made.output_text, hello);
    assert.deepEqual(bare(await client.responses.retrieve(made.id)), bare(made));
    const shown = await client.responses.retrieve(made.id, {
      include: ["message.output_text.logprobs"],
    });
    assert.deepEqual(bare(shown), bare(made));
    await client.responses.delete(made.id);
    await notFound(client.responses.retrieve(made.id));
    await notFound(client.responses.delete(made.id));
  });

  it("are parsed", async () => {
    await answerWith({ text: '{"name":"Paris"}' });
    const format = {
      type: "json_schema", name: "city", strict: true,
      schema: {
        type: "object", properties: { name: { type: "string" } }, required: ["name"],
        additionalProperties: false,
      },
    };
    const made = await client.responses.parse({ model: "demo", input: "Where?", text: { format } });
    assert.equal(made.output_text, '{"name":"Paris"}');
  });

  it("are joined again in the middle, by both helpers", async () => {
    const stream = client.responses.stream({ model: "demo", input: "Hi", background: true });
    const events = await every(stream);
    const { id } = await stream.finalResponse();
    assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
    const again = client.responses.stream({ response_id: id, starting_after: 3 });
    const later = await every(again);
    assert.deepEqual(later.map((event) => event.sequence_number), [...events.keys()].slice(4));
    assert.equal((await again.finalResponse()).output_text, hello);
    const plain = events.map((event) => bare({ ...event, snapshot: undefined }));
    for (const from of [0, 3, events.length - 1]) {
      const rest = await every(client.responses.retrieve(id, {
        stream: true, starting_after: from,
      }));
      assert.deepEqual(rest.map((event) => event.type),
        plain.slice(from + 1).map((event) => event.type));
      assert.deepEqual(rest.map((event) => event.delta),
        plain.slice(from + 1).map((event) => event.delta));
    }
  });

  it("are cancelled", async () => {
    await answerWith({ text: "never", delay_ms: 3600000 });
    const made = await client.responses.create({ model: "demo", input: "Hi", background: true });
    assert.equal((await client.responses.cancel(made.id)).status, "cancelled");
    assert.equal((await client.responses.cancel(made.id)).status, "cancelled");
    await answerWith({ text: hello });
    const foreground = await client.responses.create({ model: "demo", input: "Hi" });
    await refused(client.responses.cancel(foreground.id), "Cannot cancel a synchronous response.");
  });

  it("say what they were given, page by page", async () => {
    const made = await client.responses.create({
      model: "demo", input: ["0", "1", "2", "3", "4"].map(say),
    });
    const items = await every(client.responses.inputItems.list(made.id, {
      order: "asc", limit: 2, include: ["message.input_image.image_url"],
    }));
    assert.deepEqual(items.map((item) => item.content[0].text), ["0", "1", "2", "3", "4"]);
    const page = await client.responses.inputItems.list(made.id, { after: items[3].id });
    assert.deepEqual(page.data.map((item) => item.content[0].text), ["2", "1", "0"]);
    assert.equal(page.hasNextPage(), false);
    await refused(client.responses.inputItems.list(made.id, { after: "msg_nope" }),
      "Invalid 'after': 'msg_nope'. Expected the ID of an object in this list.",
      "invalid_value", "after");
  });

  it("are counted", async () => {
    const counted = await client.responses.inputTokens.count({ model: "demo", input: "Hi" });
    assert.ok(counted.input_tokens > 0);
  });

  it("go on from one another, also when one is deleted", async () => {
    const first = await client.responses.create({ model: "demo", input: "Hi" });
    const second = await client.responses.create({
      model: "demo", previous_response_id: first.id,
      input: [{ type: "item_reference", id: first.output[0].id }, say("And?")],
    });
    await client.responses.delete(first.id);
    const third = await client.responses.create({
      model: "demo", previous_response_id: second.id, input: "So?",
    });
    assert.equal(third.previous_response_id, second.id);
    await refused(client.responses.create({
      model: "demo", previous_response_id: first.id, input: "So?",
    }), `Previous response with id '${first.id}' not found.`, "previous_response_not_found",
    "previous_response_id");
  });
});

describe("conversations", () => {
  it("are made, shown, changed and deleted", async () => {
    const made = await client.conversations.create({ metadata: { a: "1" }, items: [say("Hi")] });
    assert.deepEqual(bare(await client.conversations.retrieve(made.id)), bare(made));
    const changed = await client.conversations.update(made.id, { metadata: { b: "2" } });
    assert.deepEqual(changed.metadata, { b: "2" });
    const gone = await client.conversations.delete(made.id);
    assert.deepEqual([gone.id, gone.object, gone.deleted],
      [made.id, "conversation.deleted", true]);
    await notFound(client.conversations.retrieve(made.id));
  });

  it("have items that are added, shown, listed and taken out", async () => {
    const { id } = await client.conversations.create();
    const added = await client.conversations.items.create(id, {
      items: ["0", "1", "2", "3", "4"].map(say), include: ["message.input_image.image_url"],
    });
    const items = await every(client.conversations.items.list(id, {
      limit: 2, order: "asc", include: ["message.output_text.logprobs"],
    }));
    assert.deepEqual(bare(items), bare(added.data));
    const item = await client.conversations.items.retrieve(items[0].id, {
      conversation_id: id, include: ["message.output_text.logprobs"],
    });
    assert.deepEqual(bare(item), bare(items[0]));
    const left = await client.conversations.items.delete(item.id, { conversation_id: id });
    assert.equal(left.id, id);
    await notFound(client.conversations.items.retrieve(item.id, { conversation_id: id }));
    const response = await client.responses.create({ model: "demo", input: "So?", conversation: id });
    assert.equal(response.conversation.id, id);
    assert.equal((await every(client.conversations.items.list(id))).length, 6);
    await refused(client.responses.create({
      model: "demo", input: "So?", conversation: id, previous_response_id: response.id,
    }), "Mutually exclusive parameters: ''. Ensure you are only providing one of: " +
      "'previous_response_id' or 'conversation'.", "mutually_exclusive_parameters");
  });
});

after(() => assert.deepEqual([...untried], []));
