// F102: openai 7 and the reference server of the Model Context Protocol, with us between them.
// EVERYTHING says where the reference server is.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import OpenAI from "openai";

import { ResponsesWS } from "openai/resources/responses/ws";

import { collapsed, options, script, user } from "./support.mjs";

const client = new OpenAI(options);
const everything = {
  type: "mcp", server_label: "everything", server_url: process.env.EVERYTHING,
  require_approval: "never",
};

const call = (name, args = {}) => ({ name: `everything__${name}`, id: "call_1", arguments: args });

// The model calls one tool, then repeats its output.
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

  it("is called, and its output goes to the model", async () => {
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

// F102.
describe("resources and prompts of the reference server", () => {
  const wanting = { tools: [{ ...everything, runnel: { resources: true, prompts: true } }] };

  it("are listed", async () => {
    const { output } = await ask("list_resources", {}, wanting);
    const names = output[0].tools.map((tool) => tool.name);
    for (const name of ["list_resources", "read_resource", "list_prompts", "get_prompt"])
      assert.ok(names.includes(name), name);
    const listed = JSON.parse(called({ output }).output);
    assert.ok(listed.resources.length);
    assert.ok(listed.resourceTemplates.some(({ uriTemplate }) => /dynamic\/text/.test(uriTemplate)));
  });

  it("are read, as text and as files", async () => {
    const text = called(await ask("read_resource", { uri: "demo://resource/dynamic/text/1" }, wanting));
    assert.match(text.output, /This is a plaintext resource/);
    const file = called(await ask("read_resource", { uri: "demo://resource/dynamic/blob/1" }, wanting));
    assert.equal(file.status, "completed");
    assert.match(file.output, /^\[/);
    const none = called(await ask("read_resource", { uri: "demo://nothing" }, wanting));
    assert.equal(none.status, "failed");
    assert.equal(none.error.type, "mcp_protocol_error");
  });

  it("are prompts with arguments", async () => {
    const { prompts } = JSON.parse(called(await ask("list_prompts", {}, wanting)).output);
    assert.ok(prompts.find((prompt) => prompt.name === "args-prompt").arguments.length);
    const prompt = called(await ask("get_prompt",
      { name: "args-prompt", arguments: { city: "Rome" } }, wanting));
    assert.match(prompt.output, /^user: .*Rome/);
  });

  it("come through the strict helper", async () => {
    await calling("get_prompt", { name: "simple-prompt" });
    const stream = client.responses.stream({ model: "demo", input: "go", ...wanting });
    const response = await stream.finalResponse();
    assert.match(called(response).output, /^user: /);
  });
});

// F45: an unmodified SDK answers for the tools of a remote server, on every face.
const guarded = { ...everything, require_approval: "always" };

const answers = (response, approve) => response.output
  .filter((item) => item.type === "mcp_approval_request")
  .map((item) => ({ type: "mcp_approval_response", approval_request_id: item.id, approve }));

function overSocket() {
  const socket = new ResponsesWS(client);
  const last = /^(error|response\.(completed|failed|incomplete))$/;
  const ask = (body) => new Promise((resolve, reject) => {
    const listen = (event) => {
      if (!last.test(event.type)) return;
      socket.off("event", listen);
      event.response ? resolve(event.response) : reject(new Error(JSON.stringify(event)));
    };
    socket.on("event", listen);
    socket.send({ type: "response.create", ...body });
  });
  return { ask, close: () => socket.close() };
}

const faces = {
  "the strict helper": () => ({
    ask: (body) => client.responses.stream(body).finalResponse(), close() {},
  }),
  "a WebSocket": overSocket,
};

for (const [name, open] of Object.entries(faces)) {
  for (const approve of [true, false]) {
    // F45.
    it(`a call of the reference server is answered ${approve} through ${name}`, async () => {
      const { ask, close } = open();
      try {
        await calling("echo", { message: "hi" });
        const body = { model: "demo", tools: [guarded] };
        const first = await ask({ ...body, input: "go" });
        const [answer] = answers(first, approve);
        assert.ok(answer && !called(first));
        const second = await ask({ ...body, input: [answer], previous_response_id: first.id });
        assert.equal(called(second).approval_request_id, answer.approval_request_id);
        assert.equal(called(second).output, approve ? "Echo: hi" : null);
      } finally {
        close();
      }
    });
  }
}

for (const approve of [true, false]) {
  // F45.
  it(`a call of the reference server is answered ${approve} in a run`, async () => {
    await calling("echo", { message: "hi" });
    const { threads } = client.beta;
    const assistant = await client.beta.assistants.create({ model: "demo", tools: [guarded] });
    const thread = await threads.create({ messages: [user("go")] });
    let run = await threads.runs.createAndPoll(thread.id, { assistant_id: assistant.id },
      { pollIntervalMs: 20 });
    assert.equal(run.status, "requires_action");
    const [question] = run.required_action.submit_tool_outputs.tool_calls;
    assert.equal(question.function.name, "runnel_approval");
    run = await threads.runs.submitToolOutputsAndPoll(run.id, {
      thread_id: thread.id,
      tool_outputs: [{ tool_call_id: question.id, output: JSON.stringify({ approve }) }],
    }, { pollIntervalMs: 20 });
    assert.equal(run.status, "completed");
    const [message] = (await threads.messages.list(thread.id)).data;
    assert.equal(/Echo: hi/.test(message.content[0].text.value), approve);
  });
}
