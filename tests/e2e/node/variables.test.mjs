// F23, F33: variables that a request brings along, through openai 7, on both faces; and, with store: false,
// variables that are nowhere but in memory.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI from "openai";

import { modelRequests, options, script, user } from "./support.mjs";

const client = new OpenAI(options);
const basic = { type: "mcp", server_label: "basic", server_url: "builtin:basic", require_approval: "never" };
const value = "twelve chars";
const runnel = { variables_in: [{ name: "inner", value }, { name: "outer", value: "<$VAR_REF{{inner}}>" }] };

const measuring = () => script(
  { match: { tool_results: true }, answer: { text: "It says: {{tool_output}}" } },
  { answer: { tool_calls: [{ name: "text", id: "call_1",
                             arguments: { operation: "length", input: "$VAR_REF{{outer}}" } }] } },
);

async function modelReceived(text) {
  return (await modelRequests()).some((chat) => JSON.stringify(chat).includes(text));
}

describe("variables that a request brings along", () => {
  for (const store of [true, false]) {
    it(`of a response with store: ${store}`, async () => {
      await measuring();
      const response = await client.responses.stream(
        { model: "demo", input: "go", tools: [basic], store, runnel }).finalResponse();
      assert.match(response.output_text, /^It says: 14/);
      assert.equal(await modelReceived(value), false);
      const called = response.output.find((item) => item.type === "mcp_call");
      assert.equal("variables" in called.runnel, store);
      const found = client.get(`/runnel/responses/${response.id}/variables/inner`);
      if (store) assert.equal((await found).value, value);
      else await assert.rejects(found, OpenAI.NotFoundError);
    });
  }

  it("of a run", async () => {
    await measuring();
    const assistant = await client.beta.assistants.create({ model: "demo" });
    const run = await client.beta.threads.createAndRunPoll({
      assistant_id: assistant.id, thread: { messages: [user("go")] },
      runnel: { ...runnel, tool_groups: { basic: true } },
    }, { pollIntervalMs: 20 });
    assert.equal(run.status, "completed");
    assert.equal(await modelReceived(value), false);
    const { data } = await client.get(`/runnel/threads/${run.thread_id}/variables?type=USER_ADD&order=asc`);
    assert.deepEqual(data.map((variable) => variable.name), ["inner", "outer"]);
  });

  it("are refused by their place", async () => {
    await assert.rejects(
      client.responses.create({ model: "demo", input: "go", runnel: { variables_in: [{ name: "a b", value }] } }),
      (problem) => problem instanceof OpenAI.BadRequestError &&
        problem.param === "runnel.variables_in[0].name" && problem.code === "invalid_value");
  });
});
