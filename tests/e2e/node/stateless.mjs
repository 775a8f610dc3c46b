// A server of the protocol's newest generation, made with its official SDK, on loopback: PORT says where.
// Says "ready". "both" as its argument: it also speaks the generation before.

import http from "node:http";
import { Readable } from "node:stream";

import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server";

const object = (properties) => fromJsonSchema({ type: "object", properties, required: Object.keys(properties) });
const text = (words) => ({ content: [{ type: "text", text: words }] });

function make({ era }) {
  const server = new McpServer({ name: "stateless", version: "1" });
  server.registerTool("add", {
    description: "Adds.", inputSchema: object({ a: { type: "number" }, b: { type: "number" } }),
  }, ({ a, b }) => text(`${a + b}, says the ${era} one`));
  server.registerTool("where", {
    description: "Goes there.", inputSchema: object({ city: { type: "string", "x-mcp-header": "City" } }),
  }, ({ city }) => text(`in ${city}`));
  server.registerTool("twice", { description: "Is called twice.", inputSchema: object({}) },
    (_, { mcpReq }) => {
      const state = mcpReq.requestState?.();
      return state ? text(`called again with ${state}`) : inputRequired({ requestState: "one" });
    });
  server.registerResource("note", "demo://note", { description: "A note." },
    (uri) => ({ contents: [{ uri: uri.href, text: "noted" }] }));
  return server;
}

const handler = createMcpHandler(make, { legacy: process.argv[2] === "both" ? "stateless" : "reject" });

http.createServer(async (request, answer) => {
  const body = Buffer.concat(await request.toArray());
  const given = await handler.fetch(new Request(`http://127.0.0.1${request.url}`, {
    method: request.method, headers: request.headers, body: body.length ? body : undefined,
  }));
  answer.writeHead(given.status, Object.fromEntries(given.headers));
  if (given.body)
    Readable.fromWeb(given.body).pipe(answer);
  else
    answer.end();
}).listen(process.env.PORT, "127.0.0.1", () => console.log("ready"));
