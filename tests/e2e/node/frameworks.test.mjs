// Frameworks that many applications stand on, with programs as their manuals have them: the AI SDK, which
// checks every event against a schema of its own, and the Agents SDK, which keeps the story itself.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  Agent, MemorySession, OpenAIConversationsSession, hostedMcpTool, run,
  setDefaultOpenAIClient, setTracingDisabled, tool as agentTool,
} from "@openai/agents";
import { createOpenAI } from "@ai-sdk/openai";
import { Output, generateText, isStepCount, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

import { answerWith, modelRequests, options, script, weatherRules } from "./support.mjs";

const basic = { serverLabel: "basic", serverUrl: "builtin:basic" };
const length = { name: "text", id: "call_1", arguments: { operation: "length", input: "four" } };
const counting = () => script(
  { match: { user: "thanks" }, answer: { text: "Welcome." } },
  { match: { tool_results: true }, answer: { text: "It says: {{tool_output}}" } },
  { answer: { tool_calls: [length] } },
);
const toolMessages = async () =>
  (await modelRequests()).at(-1).messages.filter(({ role }) => role === "tool");
const parameters = z.object({ city: z.string() });

describe("the AI SDK", () => {
  const provider = createOpenAI({ baseURL: options.baseURL, apiKey: options.apiKey });
  const model = provider("demo");
  const tools = {
    get_weather: tool({ inputSchema: parameters, execute: async ({ city }) => `sunny in ${city}` }),
  };

  before(() => { globalThis.AI_SDK_LOG_WARNINGS = false; });

  for (const store of [true, false]) {
    it(`calls functions in a stream, store: ${store}`, async () => {
      await script(...weatherRules);
      const types = [];
      const stream = streamText({
        model, prompt: "The weather?", tools, stopWhen: isStepCount(3),
        providerOptions: { openai: { store } },
      });
      for await (const part of stream.stream) {
        assert.notEqual(part.type, "error", part.error);
        if (part.type !== types.at(-1)) types.push(part.type);
      }
      assert.deepEqual(types.slice(0, 6), [
        "start", "start-step", "tool-input-start", "tool-input-delta", "tool-input-end", "tool-call"]);
      assert.deepEqual(types.slice(-5), ["text-start", "text-delta", "text-end", "finish-step", "finish"]);
      assert.match(await stream.text, /sunny in Paris.*sunny in Rome/);
      assert.equal((await stream.steps).length, 2);
      assert.ok((await stream.usage).outputTokens > 0);
    });
  }

  it("gets an object", async () => {
    await answerWith({ text: "{{sample_json}}" });
    const schema = z.object({ steps: z.array(z.object({ n: z.number(), at: z.iso.date() })), end: z.null() });
    const { output } = await generateText({ model, prompt: "Go", output: Output.object({ schema }) });
    assert.deepEqual(output, { steps: [{ n: 1, at: "2026-01-31" }], end: null });
  });

  it("says by a reference what it approves", async () => {
    await counting();
    const mcp = { mcp: provider.tools.mcp({ ...basic, requireApproval: "always" }) };
    const messages = [{ role: "user", content: "How long?" }];
    const go = async () => {
      const result = await generateText({ model, messages, tools: mcp });
      messages.push(...result.response.messages);
      return result;
    };
    const asked = (await go()).content.filter(({ type }) => type === "tool-approval-request");
    assert.equal(asked.length, 1);
    assert.deepEqual(await toolMessages(), []);
    messages.push({
      role: "tool",
      content: asked.map(({ approvalId }) => ({
        type: "tool-approval-response", approvalId, approved: true, providerExecuted: true,
      })),
    });
    assert.equal((await go()).text, "It says: 4");
    messages.push({ role: "user", content: "thanks" });
    assert.equal((await go()).text, "Welcome.");
    assert.deepEqual((await toolMessages()).map(({ content }) => content), ["4"]);
  });
});

describe("the Agents SDK", () => {
  const client = new OpenAI(options);
  const functions = [agentTool({
    name: "get_weather", description: "The weather.", parameters,
    execute: async ({ city }) => `sunny in ${city}`,
  })];
  const reporter = new Agent({ name: "Reporter", model: "demo", tools: functions });
  const sessions = { memory: () => new MemorySession(), conversation: () => new OpenAIConversationsSession({ client }) };

  before(() => {
    setTracingDisabled(true);
    setDefaultOpenAIClient(client);
  });
  after(() => setTracingDisabled(false));

  it("calls functions in a stream", async () => {
    await script(...weatherRules);
    const result = await run(reporter, "The weather?", { stream: true });
    const names = [];
    for await (const event of result) if (event.type === "run_item_stream_event") names.push(event.name);
    assert.deepEqual(names.sort(), [
      "message_output_created", "tool_called", "tool_called", "tool_output", "tool_output"]);
    assert.match(result.finalOutput, /sunny in Paris.*sunny in Rome/);
  });

  it("hands over to another agent", async () => {
    const expert = new Agent({ name: "Expert", model: "demo", instructions: "You know." });
    const desk = Agent.create({ name: "Desk", model: "demo", handoffs: [expert] });
    await script({ match: { system: "You know" }, answer: { text: "I know." } },
      { answer: { tool_calls: [{ name: "transfer_to_Expert", arguments: {} }] } });
    const result = await run(desk, "Who knows?");
    assert.deepEqual([result.finalOutput, result.lastAgent.name], ["I know.", "Expert"]);
  });

  for (const [name, make] of Object.entries(sessions)) {
    it(`remembers in a session: ${name}`, async () => {
      await script({ match: { user: "Really" }, answer: { text: "Yes." } }, ...weatherRules);
      const session = make();
      await run(reporter, "The weather?", { session });
      assert.equal((await run(reporter, "Really?", { session })).finalOutput, "Yes.");
      assert.equal((await toolMessages()).length, 2);
      assert.equal((await session.getItems()).length, 8);
    });
  }

  for (const approve of [true, false]) {
    it(`asks a person, who says ${approve}`, async () => {
      await counting();
      const agent = new Agent({
        name: "Counter", model: "demo", tools: [hostedMcpTool({ ...basic, requireApproval: "always" })],
      });
      const paused = await run(agent, "How long?");
      assert.equal(paused.interruptions.length, 1);
      for (const question of paused.interruptions)
        if (approve) paused.state.approve(question);
        else paused.state.reject(question);
      const result = await run(agent, paused.state);
      assert.equal(result.finalOutput, `It says: ${(await toolMessages())[0].content}`);
      assert.equal(result.finalOutput === "It says: 4", approve);
      const more = await run(agent, [...result.history, { role: "user", content: "thanks" }]);
      assert.equal(more.finalOutput, "Welcome.");
    });
  }
});
