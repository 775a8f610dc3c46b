// openai 7: its ResponsesWS.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";

import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";

import { answerWith, collapsed, options, script, weatherCall, weatherFlat } from "./support.mjs";

const client = new OpenAI(options);
const hello = "Hello there, my friend.";
const last = /^(error|response\.(completed|failed|incomplete))$/;
let socket;

beforeEach(() => answerWith({ text: hello }));
afterEach(() => socket?.close());

function open(more) {
  socket = new ResponsesWS(client, more);
  const events = [], waiting = [];
  socket.on("error", () => {});
  socket.on("event", (event) => {
    const resolve = waiting.shift();
    resolve ? resolve(event) : events.push(event);
  });
  const next = () => events.length ? events.shift()
    : new Promise((resolve) => waiting.push(resolve));
  const until = async (isLast) => {
    const seen = [await next()];
    while (!isLast(seen.at(-1))) seen.push(await next());
    return seen;
  };
  const response = () => until((event) => last.test(event.type));
  const ask = (body) => {
    socket.send({ type: "response.create", model: "demo", ...body });
    return response();
  };
  return { ask, next, response, until };
}

describe("ResponsesWS", () => {
  it("reads the events of a response", async () => {
    const { ask } = open();
    const events = await ask({ input: "Hi" });
    assert.deepEqual(collapsed(events.map((event) => event.type)), [
      "response.created", "response.in_progress", "response.output_item.added",
      "response.content_part.added", "response.output_text.delta", "response.output_text.done",
      "response.content_part.done", "response.output_item.done", "response.completed",
    ]);
    assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
  });

  it("goes on from a response that is not stored", async () => {
    const { ask } = open();
    const first = (await ask({ input: "one", store: false })).at(-1).response;
    await script({ match: { user: "two", model: "demo" }, answer: { text: "Went on." } });
    const second = (await ask({ input: "two", store: false, previous_response_id: first.id }))
      .at(-1).response;
    assert.equal(second.previous_response_id, first.id);
    assert.equal(second.output[0].content[0].text, "Went on.");
  });

  it("keeps lanes apart", async () => {
    await script({ match: { user: "slow" }, answer: { text: ["a", "b", "c"], piece_delay_ms: 150 } },
      { answer: { text: "fast" } });
    const { until } = open();
    const create = (input, stream_id) =>
      socket.send({ type: "response.create", model: "demo", input, stream_id });
    create("slow", "one");
    create("fast", "two");
    let ended = 0;
    const events = await until((event) => last.test(event.type) && ++ended === 2);
    const texts = (lane) => events.filter((event) => event.stream_id === lane)
      .filter((event) => event.type === "response.output_text.delta")
      .map((event) => event.delta).join("");
    assert.equal(texts("one"), "abc");
    assert.equal(texts("two"), "fast");
  });

  it("prepares without generating", async () => {
    const { ask } = open();
    const kept = (await ask({ input: "one", generate: false })).at(-1).response;
    assert.deepEqual(kept.output, []);
    const made = await ask({ input: "two", previous_response_id: kept.id });
    assert.equal(made.at(-1).response.previous_response_id, kept.id);
  });

  it("steers", async () => {
    await answerWith({ text: ["a", "b", "c", "d"], piece_delay_ms: 150 });
    const { until, response } = open();
    socket.send({ type: "response.create", model: "demo", input: "Hi" });
    const [created] = await until((event) => event.type === "response.in_progress");
    socket.send({ type: "response.steer", previous_response_id: created.response.id, input: "More" });
    const events = await response();
    assert.ok(events.some((event) => event.type === "response.steer.accepted"));
    const follower = (await response()).at(-1).response;
    assert.equal(follower.previous_response_id, created.response.id);
    assert.equal(follower.status, "completed");
  });

  it("waits for a call that the client must answer", async () => {
    await script({ match: { tool_results: true }, answer: { text: "It is {{tool_output}}." } },
      { answer: { tool_calls: [weatherCall(1, "Paris")], delay_ms: 300 } });
    const { ask, until } = open();
    socket.send({ type: "response.create", model: "demo", input: "Hi", tools: [weatherFlat] });
    const [created] = await until((event) => event.type === "response.in_progress");
    socket.send({ type: "response.steer", previous_response_id: created.response.id, input: "Go on" });
    const [pending] = (await until((event) => event.type === "response.steer.pending")).slice(-1);
    await answerWith({ text: "Sunny." });
    const input = pending.required_input.map((stub) => ({ ...stub, output: "sunny" }));
    const said = (await ask({ input, previous_response_id: created.response.id })).at(-1).response;
    assert.equal(said.output[0].content[0].text, "Sunny.");
  });

  it("receives errors, and stays usable", async () => {
    const { ask } = open();
    const error = (await ask({ input: "x", previous_response_id: "resp_x" })).at(-1);
    assert.equal(error.error.code, "previous_response_not_found");
    assert.equal((await ask({ input: "Hi" })).at(-1).type, "response.completed");
  });

  it("is refused without a key", async () => {
    socket = new ResponsesWS(new OpenAI({ ...options, apiKey: "sk-wrong" }));
    const error = await new Promise((resolve) => socket.on("error", resolve));
    assert.match(error.message + error.cause?.message, /401/);
  });
});
