// What the pages of the browser tests do, each function one thing. What they answer is JSON.

import OpenAI from "openai";

let client, held;

export function useServer({ baseURL, apiKey }) {
  client = new OpenAI({ baseURL, apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 });
}

// ---- Responses ----

const createStream = (body) => client.responses.create({ model: "demo", ...body, stream: true });

async function gather(stream, isLast = () => false) {
  const events = [];
  for await (const event of await stream) {
    events.push(event);
    if (isLast(event)) break; // which hangs up
  }
  return events;
}

export const streamResponse = ({ body }) => gather(createStream(body));

// Answers at the first delta. The stream is held, and read no further.
export async function beginStream({ body }) {
  held = await createStream(body);
  const iterator = held[Symbol.asyncIterator]();
  for (;;) {
    const { value } = await iterator.next();
    if (value.type === "response.output_text.delta") return value.delta;
  }
}

export const abortStream = () => held.controller.abort();

// Leaves a background response after its first event, and comes back for the others.
export async function comeBack({ body }) {
  const before = await gather(createStream({ ...body, background: true }), () => true);
  const { response, sequence_number } = before[0];
  const after = await gather(
    client.responses.retrieve(response.id, { stream: true, starting_after: sequence_number }));
  return [...before, ...after];
}

// The same with what every browser has. Without a key: it cannot send one.
export async function comeBackWithEventSource({ baseURL, body }) {
  const [{ response }] = await gather(createStream({ ...body, background: true }), () => true);
  const source = new EventSource(`${baseURL}/responses/${response.id}?stream=true`);
  const types = [];
  await new Promise((resolve, reject) => {
    source.onerror = reject;
    for (const type of ["response.created", "response.output_text.delta"])
      source.addEventListener(type, () => types.push(type));
    source.addEventListener("response.completed", resolve);
  });
  source.close();
  return types;
}

export async function manageResponses() {
  const made = await client.responses.create({ model: "demo", input: "Hi", background: true });
  const found = await client.responses.retrieve(made.id);
  const cancelled = await client.responses.cancel(made.id);
  const items = await client.responses.inputItems.list(made.id);
  const remove = client.responses.delete ?? client.responses.del; // until openai 5
  await remove.call(client.responses, made.id);
  return { found: found.id === made.id, status: cancelled.status, items: items.data.length,
           gone: await failure(client.responses.retrieve(made.id)) };
}

// ---- Assistants ----

export async function runWithTools({ tools }) {
  const { assistants, threads } = client.beta;
  const assistant = await assistants.create({ model: "demo", tools });
  const thread = await threads.create({ messages: [{ role: "user", content: "Weather?" }] });
  const first = threads.runs.stream(thread.id, { assistant_id: assistant.id });
  const run = await first.finalRun();
  const tool_outputs = run.required_action.submit_tool_outputs.tool_calls.map((call) => ({
    tool_call_id: call.id, output: "sunny",
  }));
  const second = threads.del // until openai 4
    ? threads.runs.submitToolOutputsStream(thread.id, run.id, { tool_outputs })
    : threads.runs.submitToolOutputsStream(run.id, { thread_id: thread.id, tool_outputs });
  const said = [];
  second.on("textDelta", (delta) => said.push(delta.value));
  const last = await second.finalRun();
  await (assistants.del ?? assistants.delete).call(assistants, assistant.id);
  await (threads.del ?? threads.delete).call(threads, thread.id);
  return { statuses: [run.status, last.status], said: said.join("") };
}

// ---- Failures and headers ----

async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return { name: error.constructor.name, status: error.status, type: error.type,
             code: error.code, requestID: error.requestID ?? error.request_id,
             headers: Object.fromEntries(new Headers(error.headers)) };
  }
  return null;
}

const attempts = {
  create: () => client.responses.create({ model: "demo", input: "Hi" }),
  stream: () => gather(createStream({ input: "Hi" })),
  retrieve: (id) => client.responses.retrieve(id),
  remove: (id) => client.responses.delete(id),
  assistant: () => client.beta.assistants.create({ model: "demo" }),
  models: () => client.models.list(),
  chat: () => client.chat.completions.create({
    model: "demo", messages: [{ role: "user", content: "Hi" }],
  }),
};

// How that fails; null when it does not.
export const attempt = ({ name, id }) => failure(attempts[name](id));

export async function headersOfUnfinished() {
  const { id } = await client.responses.create({ model: "demo", input: "Hi", background: true });
  const { response } = await client.responses.retrieve(id).withResponse();
  await client.responses.cancel(id);
  return Object.fromEntries(response.headers);
}

// What any page may send without asking: no key, no method and no type that needs a preflight.
export async function sendUnasked({ url, body }) {
  const answer = await fetch(url, { method: "POST", mode: "no-cors",
                                    body: new Blob([JSON.stringify(body)]) });
  return answer.type;
}

// ---- WebSocket ----

// The events of one response; when there is no connection, the code of its close.
export function respondOverSocket({ url, protocols, body }) {
  const socket = new WebSocket(url, protocols);
  const events = [];
  return new Promise((resolve) => {
    socket.onopen = () => socket.send(JSON.stringify({ type: "response.create", ...body }));
    socket.onmessage = ({ data }) => {
      events.push(JSON.parse(data));
      if (/^(error|response\.(completed|failed|incomplete))$/.test(events.at(-1).type))
        socket.close(1000);
    };
    socket.onclose = ({ code }) => resolve({ events, code, protocol: socket.protocol });
  });
}
