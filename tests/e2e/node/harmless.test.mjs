// F108: what we say beside OpenAI's words harms no SDK. Every extension on the wire goes
// through create({ stream: true }) and through the stream helpers, of openai 4, 5.0.0 and 7, and comes
// out whole.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI4 from "openai4";
import OpenAI5 from "openai5";
import OpenAI7 from "openai";

import { options, script } from "./support.mjs";

const group = (require_approval) =>
  [{ type: "mcp", server_label: "test", server_url: "builtin:test", require_approval }];
const notes = [{ title: "One", n: 1 }, { title: "Two", n: 2 }, { title: "Three", n: 3 }];
const use = (name, number, args) => ({ name, id: `call_${number}`, arguments: args });

// Everything that can happen in a call: live metadata, attachments, a failure, invalid arguments, an
// unknown tool, a limit.
const everything = () => script(
  { match: { user: "[SYSTEM]" }, answer: { text: "That is all." } },
  { match: { tool_results: true }, answer: { tool_calls: [use("test_slow", 5, { text: "x" })] } },
  { answer: { text: "I look.", tool_calls: [
    use("test_notes", 1, { ms: 150, notes, text: "read" }), use("test_fail", 2, { message: "no" }),
    { name: "test_slow", id: "call_3", arguments: "{broken" }, use("nobody", 4, {}),
  ] } },
);
const question = () => script(
  { match: { tool_results: true }, answer: { text: "Got {{tool_output}}." } },
  { answer: { tool_calls: [use("test_slow", 1, { text: "x" })] } },
);

async function created(client, body) {
  const events = [];
  for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
  return { events, response: events.at(-1).response };
}

async function helped(client, body) {
  const events = [];
  const stream = client.responses.stream(body);
  stream.on("event", (event) => events.push(event));
  return { response: await stream.finalResponse(), events };
}

function responses(client, ways) {
  for (const way of ways) {
    const ask = (body) => way(client, { model: "demo", input: "go", ...body });

    it(`${way.name}: notes, failures and limits`, async () => {
      await everything();
      const { events, response } = await ask({
        tools: group("never"), runnel: { rounds: { max: 1 }, history: "native" } });
      const live = events.filter((e) => e.type === "response.mcp_call.in_progress" && e.runnel);
      assert.ok(live.length >= 1 && live[0].runnel.metadata.n >= 1);
      assert.equal(response.status, "completed");
      assert.equal(response.runnel.stats.calls, 4);
      const calls = response.output.filter((item) => item.type === "mcp_call");
      assert.deepEqual(calls.map((item) => item.runnel.status ?? item.runnel.reason).sort(),
        ["error", "error", "max_rounds_reached", "not_found", "success"]);
      const named = Object.fromEntries(calls.toReversed().map((item) => [item.name, item.runnel]));
      assert.ok(named.test_notes.attachments && named.test_notes.variables);
      assert.equal(named.test_slow.error_phase, "parse_arguments");
    });

    it(`${way.name}: a question and its answer`, async () => {
      await question();
      const { response } = await ask({ tools: group("always") });
      const asked = response.output.find((item) => item.type === "mcp_approval_request");
      assert.equal(asked.runnel.kind, "execution");
      const answer = { type: "mcp_approval_response", approval_request_id: asked.id, approve: false };
      const done = await ask({
        tools: group("always"), previous_response_id: response.id, input: [answer] });
      const call = done.response.output.find((item) => item.type === "mcp_call");
      assert.equal(call.runnel.status, "execution_rejected");
      assert.equal(done.response.status, "completed");
    });

    it(`${way.name}: a chain that fails`, async () => {
      await script(
        { match: { tool_results: true }, answer: { fault: { kind: "status", status: 400 } } },
        { answer: { tool_calls: [use("test_slow", 1, { text: "x" })] } });
      await assert.rejects(ask({ tools: group("never"), background: true }), (error) => {
        assert.ok(error instanceof client.constructor.APIError);
        assert.equal(error.code, "invalid_prompt");
        assert.equal(error.type, "invalid_request_error");
        return true;
      });
    });
  }
}

function runs(client, calls) {
  const start = async (tools) => {
    const assistant = await client.beta.assistants.create({ model: "demo" });
    const thread = await client.beta.threads.create({ messages: [{ role: "user", content: "go" }] });
    return [thread.id, { assistant_id: assistant.id, tools }];
  };
  const listened = async (stream) => {
    const events = [];
    stream.on("event", (event) => events.push(event));
    return { run: await stream.finalRun(), steps: await stream.finalRunSteps(), events };
  };
  const check = (events) => {
    const live = events.filter(({ event }) => event === "thread.runnel.step.metadata");
    assert.ok(live.length >= 1 && live[0].data.metadata.n >= 1);
  };

  it("create: notes and failures of a run", async () => {
    await everything();
    const [thread, body] = await start(group("never"));
    const events = [];
    const runnel = { rounds: { max: 1 } };
    for await (const event of await client.beta.threads.runs.create(
      thread, { ...body, runnel, stream: true }))
      events.push(event);
    check(events);
    assert.equal(events.find(({ event }) => event === "thread.run.completed").data.runnel.stats.calls, 4);
  });

  it("stream: notes and failures of a run", async () => {
    await everything();
    const [thread, body] = await start(group("never"));
    const { run, steps, events } = await listened(client.beta.threads.runs.stream(
      thread, { ...body, runnel: { rounds: { max: 1 } } }));
    check(events);
    assert.equal(run.status, "completed");
    const outputs = steps.flatMap((step) => step.step_details.tool_calls ?? []);
    assert.equal(outputs.length, 5);
  });

  it("stream: a question among the functions of a run", async () => {
    await question();
    const [thread, body] = await start(group("always"));
    const { run } = await listened(client.beta.threads.runs.stream(thread, body));
    const [asked] = run.required_action.submit_tool_outputs.tool_calls;
    assert.equal(asked.function.name, "runnel_approval");
    const tool_outputs = [{ tool_call_id: asked.id, output: '{"approve": true}' }];
    const done = await listened(calls.submitStream(client, thread, run.id, { tool_outputs }));
    assert.equal(done.run.status, "completed");
  });
}

const flat = {
  submitStream: (client, thread_id, id, body) =>
    client.beta.threads.runs.submitToolOutputsStream(id, { thread_id, ...body }),
};
const nested = {
  submitStream: (client, thread, id, body) =>
    client.beta.threads.runs.submitToolOutputsStream(thread, id, body),
};

for (const [name, OpenAI, calls] of [
  ["openai 4", OpenAI4, nested], ["openai 5.0.0", OpenAI5, flat], ["openai 7", OpenAI7, flat],
]) {
  describe(name, () => {
    const client = new OpenAI(options);
    responses(client, client.responses.stream ? [created, helped] : [created]);
    runs(client, calls);
  });
}
