// The strictest client there is, over every golden case: responses.stream() throws where the response
// has failed, and then only that, and what it has gathered from the events is what the last of them says.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import OpenAI from "openai";

import { options, script } from "./support.mjs";

const client = new OpenAI(options);
const directory = new URL("../golden/", import.meta.url);
const names = readdirSync(directory).filter((name) => name.endsWith(".json")).sort();

// The helper adds this to what was said.
function bare(response) {
  const { output_text, ...rest } = response;
  const copy = JSON.parse(JSON.stringify(rest));
  for (const item of copy.output) {
    delete item.parsed_arguments;
    for (const part of item.content ?? []) delete part.parsed;
  }
  delete copy.output_parsed;
  return copy;
}

for (const name of names) {
  const { rules, request, cancel, needs, models = ["demo", "native"] } =
    JSON.parse(readFileSync(new URL(name, directory)));
  for (const model of models) {
    test(`${name} ${model}`, async (t) => {
      await script(...rules);
      const stream = client.responses.stream({ model, ...request });
      let id, last;
      const listen = async () => {
        for await (const event of stream) {
          id ??= event.response.id;
          last = event;
          if (event.type === cancel) await client.responses.cancel(id);
        }
      };
      if (name.startsWith("failed")) {
        const thrown = await listen().then(() => assert.fail("it did not throw"), (error) => error);
        const { status, error } = await client.responses.retrieve(id);
        assert.ok(thrown instanceof OpenAI.APIError, thrown);
        assert.deepEqual([status, error.code, error.message], ["failed", thrown.code, thrown.error.message]);
        return;
      }
      await listen();
      const final = await stream.finalResponse();
      if (needs === "sandbox" && final.runnel?.unavailable_tools) {
        t.skip("no sandbox");
        return;
      }
      assert.match(last.type, /^response\.(completed|incomplete|failed)$/);
      assert.deepEqual(bare(final), bare(last.response));
      assert.equal(final.id, id);
      if (request.store !== false) {
        assert.deepEqual(bare(await client.responses.retrieve(id)), bare(final));
      }
    });
  }
}

test("there are golden cases", () => assert.ok(names.length > 20));
