// F102: openai 7 and the reference server of the Model Context Protocol, with us between them.
// EVERYTHING says where the reference server is.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI from "openai";

import { collapsed, options, script } from "./support.mjs";

const client = new OpenAI(options);
const everything = {
  type: "mcp", server_label: "everything", server_url: process.env.EVERYTHING,
  require_approval: "never",
};

const call = (name, args = {}) => ({ name: `everything__${name}`, id: "call_1", arguments: args });

// The model calls one tool, then says what it was told.
const calling = (name, args) => script(
  { match: { tool_results: true }, answer: { text: "It says: {{tool_output}}" } },
  { answer: { tool_calls: [call(name, args)] } },
);

async function ask(name, args, more) {
  await calling(name, args);
  return client.responses.create({ model: "demo", input: "go", tools: [everything], ...more });
}

const called = (response) => response.output.find((item) => item.type === "mcp_call");

describe("the reference server", () => {
  it("lists its tools with their schemas", async () => {
    const { output } = await ask("echo", { message: "hi" });
    const listed = output[0];
    assert.equal(listed.type, "mcp_list_tools");
    const echo = listed.tools.find((tool) => tool.name === "echo");
    assert.equal(echo.input_schema.properties.message.type, "string");
    assert.ok(listed.tools.some((tool) => tool.name === "get-sum"));
  });

  it("is called, and its answers told to the model", async () => {
    const response = await ask("get-sum", { a: 2, b: 3 });
    assert.equal(called(response).name, "get-sum");
    assert.equal(called(response).output, "The sum of 2 and 3 is 5.");
    assert.equal(response.output_text, "It says: The sum of 2 and 3 is 5.");
  });

  it("streams through the strict helper", async () => {
    await calling("echo", { message: "hi" });
    const stream = client.responses.stream({ model: "demo", input: "go", tools: [everything] });
    const types = [];
    stream.on("event", (event) => types.push(event.type));
    const response = await stream.finalResponse();
    assert.equal(called(response).output, "Echo: hi");
    const mcp = collapsed(types).filter((type) => type.startsWith("response.mcp_"));
    assert.deepEqual(mcp, [
      "response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed",
      "response.mcp_call.in_progress", "response.mcp_call_arguments.delta",
      "response.mcp_call_arguments.done", "response.mcp_call.completed",
    ]);
  });

  it("gives structured content and pictures", async () => {
    const weather = called(await ask("get-structured-content", { location: "Chicago" }));
    assert.equal(JSON.parse(weather.output).temperature, 36);
    const picture = called(await ask("get-tiny-image"));
    assert.match(picture.output, /Here's the image[^\n]*\n\[image image\/png\]\nThe image above/);
  });

  it("takes its time", async () => {
    const slow = called(await ask("trigger-long-running-operation", { duration: 1, steps: 2 }));
    assert.match(slow.output, /Long running operation completed/);
  });

  it("is not asked what makes no sense", async () => {
    const wrong = called(await ask("get-sum", { a: "two" }));
    assert.equal(wrong.status, "failed");
    assert.match(wrong.error.content[0].text, /Invalid everything__get-sum parameters/);
  });

  it("is asked for its tools once in a chain", async () => {
    const first = await ask("echo", { message: "one" });
    const second = await ask("echo", { message: "two" }, { previous_response_id: first.id });
    assert.ok(!second.output.some((item) => item.type === "mcp_list_tools"));
  });
});
