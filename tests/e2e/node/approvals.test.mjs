// F39, F45: a person approves a call of a server-side tool before it runs, and its result before the
// model gets it. An unmodified openai 7 answers, on both faces.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI from "openai";
import OpenAI4 from "openai4";

import { options, script, user } from "./support.mjs";

const client = new OpenAI(options);
const quick = { pollIntervalMs: 20 };
const basic = { type: "mcp", server_label: "basic", server_url: "builtin:basic" };
const runnel = { permissions: { "basic/text": { execution: "ask-always", result: "always" } } };

const calling = () => script(
  { match: { tool_results: true }, answer: { text: "It says: {{tool_output}}" } },
  { answer: { tool_calls: [{ name: "text", id: "call_1", arguments: { operation: "length", input: "four" } }] } },
);

const questionsOf = (response) =>
  response.output.filter((item) => item.type === "mcp_approval_request");

function reply(response, approve) {
  return questionsOf(response).map((question) => ({
    type: "mcp_approval_response", approval_request_id: question.id, approve,
  }));
}

describe("two questions about one call", () => {
  for (const approve of [true, false]) {
    it(`of a response, the second one answered ${approve}, through the strict helper`, async () => {
      await calling();
      const ask = (body) => client.responses.stream(
        { model: "demo", tools: [basic], runnel, ...body }).finalResponse();
      const first = await ask({ input: "go" });
      assert.deepEqual(questionsOf(first).map((q) => q.runnel.kind), ["execution"]);
      const second = await ask({ input: reply(first, true), previous_response_id: first.id });
      assert.deepEqual(questionsOf(second).map((q) => q.runnel.kind), ["result"]);
      const called = second.output.find((item) => item.type === "mcp_call");
      assert.equal(called.runnel.model_visible, false);
      assert.match(called.output, /^4/);
      const last = await ask({ input: reply(second, approve), previous_response_id: second.id });
      assert.match(last.output_text, approve ? /^It says: 4/ : /"status":"rejected"/);
    });

    it(`of a run, the second one answered ${approve}`, async () => {
      await calling();
      const { threads } = client.beta;
      const assistant = await client.beta.assistants.create({ model: "demo", tools: [basic] });
      const thread = await threads.create({ messages: [user("go")] });
      let run = await threads.runs.createAndPoll(
        thread.id, { assistant_id: assistant.id, runnel }, quick);
      const kinds = [];
      while (run.status === "requires_action") {
        const [question] = run.required_action.submit_tool_outputs.tool_calls;
        const about = JSON.parse(question.function.arguments);
        kinds.push(about.kind);
        const output = JSON.stringify({ approve: about.kind === "execution" || approve });
        run = await threads.runs.submitToolOutputsAndPoll(run.id, {
          thread_id: thread.id, tool_outputs: [{ tool_call_id: question.id, output }],
        }, quick);
      }
      assert.deepEqual(kinds, ["execution", "result"]);
      assert.equal(run.status, "completed");
      const [said] = (await threads.messages.list(thread.id)).data;
      assert.match(said.content[0].text.value, approve ? /^It says: 4/ : /"status":"rejected"/);
    });
  }
});

describe("an answer that is remembered", () => {
  const once = { permissions: { "basic/text": { execution: "ask-once" } } };

  // F35, F45.
  it("lets the same call of the thread run without a question", async () => {
    await calling();
    const ask = (body) => client.responses.stream({
      model: "demo", tools: [{ ...basic, require_approval: "always" }], runnel: once, ...body,
    }).finalResponse();
    const first = await ask({ input: "go" });
    const [answer] = reply(first, true);
    const second = await ask({
      previous_response_id: first.id,
      input: [{ ...answer, runnel: { remember: { scope: "thread", match: "exact" } } }],
    });
    assert.match(second.output_text, /^It says: 4/);
    const third = await ask({ input: "again", previous_response_id: second.id });
    assert.deepEqual(questionsOf(third), []);
    const called = third.output.find((item) => item.type === "mcp_call");
    assert.equal(called.runnel.approval.remembered, true);
    assert.match(called.output, /^4/);
    const grant = await client.get(`/runnel/approval_grants/${called.runnel.approval.grant_id}`);
    assert.equal(grant.tool, "basic/text");
    await client.delete(`/runnel/approval_grants/${grant.id}`);
    const fourth = await ask({ input: "again", previous_response_id: third.id });
    assert.equal(questionsOf(fourth).length, 1);
  });
});

// F44: a response that waits with its stream open says so in an event that no helper stumbles over.
describe("the channel hold", () => {
  for (const approve of [true, false]) {
    // F44.
    it(`goes on in the same stream when it is answered ${approve}, through the strict helper`, async () => {
      await calling();
      const stream = client.responses.stream({
        model: "demo", input: "go", tools: [{ ...basic, require_approval: "always" }],
        runnel: { approval: { channel: "hold" } },
      });
      let asked = 0;
      for await (const event of stream) {
        if (event.type !== "keepalive") continue;
        asked += 1;
        const [question] = event.runnel.approval_requests;
        await client.post(`/runnel/approvals/${question.id}`, { body: { approve } });
      }
      const response = await stream.finalResponse();
      assert.equal(asked, 1);
      assert.equal(response.status, "completed");
      assert.deepEqual(questionsOf(response), []);
      assert.match(response.output_text, approve ? /^It says: 4/ : /"status":"rejected"/);
    });
  }

  for (const [version, SDK] of [[7, OpenAI], [4, OpenAI4]]) {
    // F44.
    it(`suspends when nobody answers in time, openai ${version}`, async () => {
      await calling();
      const { responses } = new SDK(options);
      const tools = [{ ...basic, require_approval: "always" }];
      const response = await responses.stream({
        model: "demo", input: "go", tools,
        runnel: { approval: { channel: "hold", hold_timeout_s: 1 } },
      }).finalResponse();
      assert.equal(questionsOf(response).length, 1);
      const next = await responses.create({
        model: "demo", input: reply(response, true), previous_response_id: response.id, tools,
      });
      assert.match(next.output_text, /^It says: 4/);
    });
  }
});

describe("settings of tools", () => {
  // F49.
  it("of a user, said with the SDK's own post, ask for that user only", async () => {
    await calling();
    const path = "/runnel/tool_settings?user=node-ann";
    const said = await client.post(path, { body: {
      tool_groups: { basic: true }, permissions: { "basic/text": { execution: "ask-always" } } } });
    assert.equal(said.user, "node-ann");
    const ask = (user) => client.responses.create({ model: "demo", tools: [basic], input: "go", user });
    assert.equal(questionsOf(await ask("node-ann")).length, 1);
    assert.equal(questionsOf(await ask("node-bob")).length, 0);
    assert.equal((await client.delete(path)).deleted, true);
    assert.equal(questionsOf(await ask("node-ann")).length, 0);
    await assert.rejects(client.get(path), { status: 404 });
  });
});
