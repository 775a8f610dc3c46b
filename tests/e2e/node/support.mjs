// What all tests of the Node SDKs need. The server and the scripted upstream run already:
// BASE_URL, API_KEY and UPSTREAM_URL say where.

import assert from "node:assert/strict";

const { BASE_URL, API_KEY, UPSTREAM_URL } = process.env;
const control = UPSTREAM_URL.replace(/\/v1$/, "");

export const options = { baseURL: BASE_URL, apiKey: API_KEY, maxRetries: 0, timeout: 60000 };

export async function script(...rules) {
  await fetch(`${control}/__requests`, { method: "DELETE" });
  const answer = await fetch(`${control}/__script`, {
    method: "POST",
    body: JSON.stringify({ models: ["demo"], rules }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

// The bodies of the requests that the model has received since the last script.
export async function modelRequests() {
  const { data } = await (await fetch(`${control}/__requests`)).json();
  return data.map((request) => request.body);
}

export const answerWith = (answer) => script({ answer });

export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const weatherTool = {
  type: "function",
  function: { name: "get_weather", description: "The weather.", parameters: weatherSchema },
};
export const weatherFlat = {
  type: "function", name: "get_weather", description: "The weather.", parameters: weatherSchema,
  strict: true,
};

export const weatherCall = (number, city) => ({
  name: "get_weather", id: `call_${number}`, arguments: { city },
});

// The model calls for the weather of two cities, then repeats the outputs.
export const weatherRules = [
  { match: { tool_results: true }, answer: { text: "It is {{tool_outputs}}." } },
  { answer: { tool_calls: [weatherCall(1, "Paris"), weatherCall(2, "Rome")] } },
];

export const user = (content) => ({ role: "user", content });

// Types of the events that a stream helper emits, deltas in a row as one.
export function collapsed(types) {
  return types.filter((type, i) => !(type.endsWith(".delta") && types[i - 1] === type));
}
