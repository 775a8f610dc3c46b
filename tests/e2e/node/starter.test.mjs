// OpenAI's starter application for Responses, by its public calls: a page keeps the whole conversation and sends it
// with every turn, a route of a web server passes the events on. It lists all hosted tools in each request.

import assert from "node:assert/strict";
import http from "node:http";
import { after, before, describe, it } from "node:test";

import OpenAI from "openai";

import { modelRequests, options, script, user, weatherCall, weatherFlat } from "./support.mjs";

const store = await new OpenAI(options).vectorStores.create({});
const hosted = [
  { type: "web_search", user_location: { type: "approximate", country: "FR", city: "Paris" } },
  { type: "file_search", vector_store_ids: [store.id] },
  { type: "code_interpreter", container: { type: "auto" } },
];
const mcp = { type: "mcp", server_label: "basic", server_url: "builtin:basic", require_approval: "always" };
const tools = [...hosted, weatherFlat, mcp];

// ---- The route ----

async function* events(body) {
  const client = new OpenAI(options);
  const stream = await client.responses.create({
    model: "demo", instructions: "You are a helpful assistant.", input: body.messages, tools: body.tools,
    stream: true, parallel_tool_calls: false,
  });
  for await (const event of stream) yield `data: ${JSON.stringify({ event: event.type, data: event })}\n\n`;
}

const route = http.createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
  try {
    for await (const line of events(JSON.parse(text))) response.write(line);
  } catch (error) {
    response.write(`data: ${JSON.stringify({ event: "thrown", data: { message: error.message } })}\n\n`);
  }
  response.end();
});

// ---- The page ----

class Page {
  items = [];
  shown = [];
  texts = {};

  async turn() {
    const answer = await fetch(`http://127.0.0.1:${route.address().port}/`, {
      method: "POST", body: JSON.stringify({ messages: this.items, tools }),
    });
    const calls = [];
    for (const line of (await answer.text()).split("\n\n").filter(Boolean)) {
      const { event, data } = JSON.parse(line.slice("data: ".length));
      assert.notEqual(event, "thrown", data.message);
      this.shown.push(event);
      if (event === "response.output_text.delta")
        this.texts[data.item_id] = (this.texts[data.item_id] ?? "") + data.delta;
      if (event === "response.output_item.done") {
        this.items.push(data.item);
        if (data.item.type === "function_call") calls.push(data.item);
      }
      if (event === "response.completed") this.last = data.response;
    }
    for (const call of calls) {
      const { city } = JSON.parse(call.arguments);
      this.items.push({ type: "function_call_output", call_id: call.call_id, status: "completed",
                        output: JSON.stringify({ temperature: 21, city }) });
    }
    if (calls.length) await this.turn();
  }

  async say(text) {
    this.items.push(user(text));
    await this.turn();
    return this.texts[this.items.at(-1).id];
  }

  async approve(approve) {
    const { id } = this.items.at(-1);
    this.items.push({ type: "mcp_approval_response", approve, approval_request_id: id });
    await this.turn();
    return this.texts[this.items.at(-1).id];
  }

  types() {
    return this.items.map((item) => item.type ?? item.role);
  }
}

const last = async () => (await modelRequests()).at(-1);
const names = (request) => request.tools.map((tool) => tool.function.name);

describe("the starter application", () => {
  before(() => new Promise((listening) => route.listen(0, "127.0.0.1", listening)));
  after(() => route.close());

  it("holds a conversation, with a function and a question of an MCP server", async () => {
    const page = new Page();
    await script(
      { match: { user: "time", tool_results: true }, answer: { text: "It is late." } },
      { match: { user: "time" }, answer: { tool_calls: [{ name: "datetime", id: "call_2", arguments: {} }] } },
      { match: { user: "weather", tool_results: true }, answer: { text: "It is {{tool_output}}." } },
      { match: { user: "weather" }, answer: { tool_calls: [weatherCall(1, "Paris")] } },
      { answer: { text: "Hello, Ada." } },
    );
    assert.equal(await page.say("I am Ada."), "Hello, Ada.");
    assert.equal(await page.say("The weather?"), 'It is {"temperature":21,"city":"Paris"}.');
    assert.deepEqual(page.types().filter((type) => type !== "mcp_list_tools"), [
      "user", "message", "user", "function_call", "function_call_output", "message"]);

    await page.say("What time is it?");
    assert.equal(page.items.at(-1).type, "mcp_approval_request");
    assert.equal(await page.approve(true), "It is late.");
    assert.equal(page.items.find((item) => item.type === "mcp_call").approval_request_id,
                 page.items.find((item) => item.type === "mcp_approval_request").id);

    assert.equal(await page.say("Thanks."), "Hello, Ada.");
    const sent = (await last()).messages.filter((message) => message.role !== "system");
    assert.deepEqual(sent.map((message) => message.role), [
      "user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant",
      "user"]);
    assert.ok(!page.shown.includes("error"));
  });

  it("sees which of its tools the server does not have, and continues without them", async () => {
    const page = new Page();
    await script({ answer: { text: "Hi." } });
    assert.equal(await page.say("Hello"), "Hi.");
    const lacking = page.last.runnel.unavailable_tools.map((tool) => tool.type);
    assert.equal(lacking[0], "web_search");
    assert.ok(lacking.slice(1).every((type) => type === "code_interpreter")); // without a sandbox
    assert.deepEqual(page.last.tools.map((tool) => tool.type), tools.map((tool) => tool.type));
    const offered = names(await last());
    assert.equal(offered.includes("python"), lacking.length === 1);
    assert.deepEqual(offered.filter((name) => name !== "python").slice(0, 3),
                     ["file_search", "get_weather", "datetime"]);
  });

  it("shows a question that is refused", async () => {
    const page = new Page();
    await script(
      { match: { tool_results: true }, answer: { text: "As you like." } },
      { answer: { tool_calls: [{ name: "datetime", id: "call_1", arguments: {} }] } });
    await page.say("What time is it?");
    assert.equal(await page.approve(false), "As you like.");
    assert.ok(!page.items.some((item) => item.type === "mcp_call" && item.output));
  });
});
