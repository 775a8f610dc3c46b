"""Programmatic tool calling: code of the model calls tools, waits for clients, and is repeated."""

import json

import openai
import pytest

from harness.sandbox import require_sandbox
from harness.tools import call

PROGRAMS = {"type": "programmatic_tool_calling"}
STOCK = {"type": "function", "name": "get_stock", "description": "Counts what is there.", "strict": False,
         "parameters": {"type": "object", "properties": {"sku": {"type": "string"}}},
         "output_schema": {"type": "object", "properties": {"count": {"type": "integer"}}},
         "allowed_callers": ["programmatic"]}
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic", "require_approval": "never",
         "allowed_callers": ["programmatic"]}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def programs(upstream):
    """The model runs the program, and then says `text`."""
    def programs(code, text="Done.", id="call_P"):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                        {"answer": {"tool_calls": [{"name": "program", "id": id, "arguments": {"code": code}}]}})
    return programs


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "go", "tools": [PROGRAMS, STOCK], **body})


def output(item, value):
    text = value if isinstance(value, str) else json.dumps(value)
    return {"type": "function_call_output", "call_id": item.call_id, "output": text,
            "caller": item.caller.model_dump()}


def types(response):
    return [item.type for item in response.output]


def read(upstream):
    """What the model has read of its calls."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


TWO = """const [a, b] = await Promise.all([tools.get_stock({sku: 'a'}), tools.get_stock({sku: 'b'})]);
text(a.count + b.count);"""


def test_a_program_calls_a_function_of_the_client(client, programs, upstream):
    programs(TWO)
    first = respond(client)
    program, a, b = first.output
    assert first.status == "completed"
    assert (program.type, program.call_id, program.code) == ("program", "call_P", TWO)
    assert program.id.startswith("cm_") and program.fingerprint
    assert [(c.type, c.status, c.name, json.loads(c.arguments)) for c in (a, b)] == [
        ("function_call", "in_progress", "get_stock", {"sku": sku}) for sku in "ab"]
    assert a.caller.model_dump() == {"type": "program", "caller_id": "call_P"} and a.call_id != b.call_id
    second = respond(client, previous_response_id=first.id, input=[output(a, {"count": 3}), output(b, {"count": 4})])
    ended, message = second.output
    assert (ended.type, ended.call_id, ended.status, ended.result) == ("program_output", "call_P", "completed", "7")
    assert ended.id.startswith("cmo_") and message.content[0].text == "Done."
    assert read(upstream) == ["7"]
    (called,) = [c for m in upstream.chats()[-1]["messages"] for c in m.get("tool_calls", [])]
    assert called["function"]["name"] == "program" and json.loads(called["function"]["arguments"]) == {"code": TWO}


def test_the_tools_of_programs_are_described_and_not_offered(client, programs, upstream):
    programs("text(1)")
    respond(client, tools=[PROGRAMS, STOCK, {**STOCK, "name": "both", "allowed_callers": ["direct", "programmatic"]},
                           {**STOCK, "name": "alone", "allowed_callers": None}])
    offered = {t["function"]["name"]: t["function"] for t in upstream.chats()[0]["tools"]}
    assert list(offered) == ["program", "both", "alone"]
    text = offered["program"]["description"]
    assert 'tools["get_stock"]: Counts what is there.\n  Arguments: {' in text and 'Output: {"type":"object"' in text
    assert 'tools["both"]' in text and "alone" not in text
    assert list(offered["program"]["parameters"]["properties"]) == ["code"]


def test_tools_of_the_server_run_within_the_response(client, programs, upstream):
    programs("""const lengths = [];
for (const word of ['one', 'three']) lengths.push(await tools.text({input: word, operation: 'length'}));
text(lengths);
text({sum: lengths.reduce((a, b) => a + b)});""")
    response = respond(client, tools=[PROGRAMS, BASIC])
    assert types(response) == ["mcp_list_tools", "program", "mcp_call", "mcp_call", "program_output", "message"]
    first, second = response.output[2:4]
    assert first.caller == {"type": "program", "caller_id": "call_P"} and first.status == "completed"
    assert json.loads(second.arguments) == {"input": "three", "operation": "length"} and second.output == "5"
    assert response.output[4].result == '[3,5]\n{"sum":8}'
    assert read(upstream) == ['[3,5]\n{"sum":8}']


def test_rounds_of_both_sides_take_turns(client, programs):
    programs("""const a = await tools.get_stock({sku: 'a'});
const n = await tools.text({input: a.name, operation: 'length'});
const [b, m] = await Promise.all([tools.get_stock({sku: 'b' + n}), tools.text({input: 'ab', operation: 'length'})]);
text([a.name, n, b, m, Math.random(), Date.now()]);
const c = await tools.get_stock({sku: 'c'});
text([c, Math.random(), Date.now()]);""")
    tools = [PROGRAMS, STOCK, BASIC]
    one = respond(client, tools=tools)
    assert types(one) == ["mcp_list_tools", "program", "function_call"]
    two = respond(client, tools=tools, previous_response_id=one.id, input=[output(one.output[-1], {"name": "four"})])
    assert types(two) == ["mcp_call", "function_call", "mcp_call"]
    assert json.loads(two.output[1].arguments) == {"sku": "b4"}
    three = respond(client, tools=tools, previous_response_id=two.id, input=[output(two.output[1], "plain")])
    assert types(three) == ["function_call"]
    four = respond(client, tools=tools, previous_response_id=three.id, input=[output(three.output[0], "[1]")])
    assert types(four) == ["program_output", "message"]
    before, behind = map(json.loads, four.output[0].result.split("\n"))
    assert before[:4] == ["four", 4, "plain", 2] and behind[0] == [1]
    assert before[4] != behind[1] and 0 <= behind[1] < 1 and before[5] == behind[2]


def test_a_history_that_the_client_keeps(client, programs, upstream):
    programs("""const n = await tools.text({input: 'four', operation: 'length'});
const a = await tools.get_stock({sku: 'a' + n});
text(a.count + n);""")
    body = {"tools": [PROGRAMS, STOCK, BASIC], "store": False}
    history = [{"role": "user", "content": "go"}]
    first = respond(client, input=history, **body)
    assert types(first) == ["mcp_list_tools", "program", "mcp_call", "function_call"]
    history += [item.model_dump() for item in first.output] + [output(first.output[-1], {"count": 3})]
    second = respond(client, input=history, **body)
    assert types(second) == ["program_output", "message"] and second.output[0].result == "7"
    history += [item.model_dump() for item in second.output] + [{"role": "user", "content": "and now?"}]
    upstream.script({"answer": {"text": "Nothing."}})
    assert types(respond(client, input=history, **body)) == ["message"]
    roles = [m["role"] for m in upstream.chats()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("code, why", [
    ("let x = 1;\nthrow new Error('no stock');", "Error: no stock (line 2)"),
    ("const a = ;", "SyntaxError: Unexpected token ';' (line 1)"),
    ("await new Promise(() => {});", "The program waits for something that never happens."),
    ("const a = []; for (;;) a.push(new Array(1e5).fill(1));",
     "The program was stopped: it needs more than 128 MiB of memory."),
    ("text('x'.repeat(1000001));", "RangeError: A program may say 1000000 characters. (line 1)"),
    ("await tools.nothing({});", "TypeError: tools.nothing is not a function (line 1)"),
    ("require('fs');", "ReferenceError: require is not defined (line 1)"),
])
def test_a_program_that_does_not_come_to_its_end(client, programs, upstream, code, why):
    programs(code)
    program, ended, message = respond(client).output
    assert (ended.type, ended.status, ended.result) == ("program_output", "incomplete", why)
    assert read(upstream) == [f"The program did not come to its end. {why}"] and message.type == "message"


def test_a_program_that_never_waits_is_stopped(start_server, programs):
    programs("for (;;) {}")
    client = start_server(sandbox_exec_max=2, sandbox_exec_timeout=2).sdk()
    ended = respond(client).output[1]
    assert (ended.status, ended.result) == ("incomplete", "The program was stopped: it took too long.")


def test_an_error_of_a_call_is_an_exception(client, programs):
    programs("""try { await tools.text({input: 'a', operation: 'nothing'}); } catch (error) { text(error instanceof Error); }
try { await tools.text('a'); } catch (error) { text(error.message); }""")
    response = respond(client, tools=[PROGRAMS, BASIC])
    assert types(response) == ["mcp_list_tools", "program", "mcp_call", "program_output", "message"]
    assert response.output[2].status == "failed"
    assert response.output[3].result == "true\ntools.text takes an object"


def test_a_custom_tool_takes_a_text(client, programs):
    programs("text(await tools.sql('SELECT 1'));")
    tools = [PROGRAMS, {"type": "custom", "name": "sql", "allowed_callers": ["programmatic"]}]
    first = respond(client, tools=tools)
    called = first.output[1]
    assert (called.type, called.name, called.input) == ("custom_tool_call", "sql", "SELECT 1")
    assert called.caller.caller_id == "call_P"
    second = respond(client, tools=tools, previous_response_id=first.id, input=[
        {"type": "custom_tool_call_output", "call_id": called.call_id, "output": "one row",
         "caller": called.caller.model_dump()}])
    assert second.output[0].result == "one row"


def test_limits_of_calls(client, programs):
    programs("""let refused = 0;
const all = [];
for (let i = 0; i < 257; i++) all.push(tools.text({input: 'a'.repeat(i), operation: 'length'}).catch(() => { refused++; }));
const lengths = await Promise.all(all);
text([refused, lengths.length, lengths[255]]);""")
    response = respond(client, tools=[PROGRAMS, BASIC])
    assert types(response).count("mcp_call") == 256 and json.loads(response.output[-2].result) == [1, 257, 255]


def test_a_client_has_64_calls_at_once(client, programs):
    programs("await Promise.all(Array.from({length: 65}, (_, i) => tools.get_stock({sku: String(i)}))); text('all');")
    first = respond(client)
    calls = [i for i in first.output if i.type == "function_call"]
    assert len(calls) == 64
    second = respond(client, previous_response_id=first.id, input=[output(c, "1") for c in calls])
    (last,) = second.output
    assert json.loads(last.arguments) == {"sku": "64"}
    assert respond(client, previous_response_id=second.id, input=[output(last, "1")]).output[0].result == "all"


def test_without_parallel_tool_calls_a_program_makes_one_at_a_time(client, programs):
    programs(TWO)
    first = respond(client, parallel_tool_calls=False)
    assert types(first) == ["program", "function_call"]
    second = respond(client, parallel_tool_calls=False, previous_response_id=first.id,
                     input=[output(first.output[1], {"count": 1})])
    (call,) = second.output
    assert json.loads(call.arguments) == {"sku": "b"}
    third = respond(client, previous_response_id=second.id, input=[output(call, {"count": 2})])
    assert third.output[0].result == "3"


def test_steps_behind_long_outputs_have_a_limit(client, programs):
    programs("""await Promise.all(Array.from({length: 9}, (_, i) => tools.get_stock({sku: String(i)})));
for (let i = 0; i < 20; i++) await tools.text({input: 'a'.repeat(i), operation: 'length'});""")
    tools = [PROGRAMS, STOCK, BASIC]
    first = respond(client, tools=tools)
    second = respond(client, tools=tools, previous_response_id=first.id,
                     input=[output(c, "x" * 1000000) for c in first.output if c.type == "function_call"])
    assert types(second) == ["mcp_call"] * 14 + ["program_output", "message"]
    assert (second.output[-2].status, second.output[-2].result) == (
        "incomplete", "The program waits too often behind long outputs. Make calls together, with Promise.all, or in "
        "several programs.")


def test_max_tool_calls_counts_the_calls_of_programs(client, programs):
    programs("""const all = [];
for (let i = 0; i < 3; i++) all.push(await tools.text({input: 'a', operation: 'length'}).catch(e => e.message));
text(all);""")
    response = respond(client, tools=[PROGRAMS, BASIC], max_tool_calls=3)
    (ended,) = [item for item in response.output if item.type == "program_output"]
    results = json.loads(ended.result)
    assert results[:2] == [1, 1] and "max_calls_reached" in results[2]


def test_pictures_are_attachments(client, programs):
    programs("image('data:image/png;base64,iVBORw0KGgo='); image({image_url: 'https://example.com/a.png'}); text('two');")
    ended = respond(client).output[1]
    assert ended.result == "two"
    assert ended.runnel["attachments"] == [
        {"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="},
        {"type": "image", "url": "https://example.com/a.png"}]


def test_a_call_that_asks_pauses_the_program(client, programs):
    programs("const n = await tools.text({input: 'four', operation: 'length'}); text(n); "
             "try { await tools.text({input: 'x', operation: 'length'}); } catch (e) { text(e.message); }")
    asks = {**BASIC, "require_approval": "always"}
    first = respond(client, tools=[PROGRAMS, asks])
    assert types(first) == ["mcp_list_tools", "program", "mcp_approval_request"]
    assert first.output[-1].name == "text" and json.loads(first.output[-1].arguments)["input"] == "four"
    answer = {"type": "mcp_approval_response", "approval_request_id": first.output[-1].id, "approve": True}
    second = respond(client, tools=[PROGRAMS, asks], previous_response_id=first.id, input=[answer])
    assert types(second) == ["mcp_call", "mcp_approval_request"]
    assert second.output[0].output == "4" and second.output[0].caller["caller_id"] == "call_P"
    answer = {"type": "mcp_approval_response", "approval_request_id": second.output[-1].id, "approve": False}
    third = respond(client, tools=[PROGRAMS, asks], previous_response_id=second.id, input=[answer])
    assert types(third) == ["mcp_call", "program_output", "message"]
    assert third.output[1].result.startswith("4\n") and "reject" in third.output[1].result


def test_an_approved_call_of_a_program_does_not_ask_tool_choice(client, programs):
    programs("text(await tools.text({input: 'four', operation: 'length'}));")
    tools = [PROGRAMS, {**BASIC, "require_approval": "always", "allowed_callers": ["direct", "programmatic"]}]
    first = respond(client, tools=tools)
    answer = {"type": "mcp_approval_response", "approval_request_id": first.output[-1].id, "approve": True}
    second = respond(client, tools=tools, previous_response_id=first.id, input=[answer], tool_choice="none")
    assert types(second)[:2] == ["mcp_call", "program_output"] and second.output[1].result == "4"


def test_programs_and_calls_of_the_model_in_one_turn(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [
                        {"name": "program", "id": "call_P", "arguments": {"code": "text(await tools.get_stock({sku: '1'}))"}},
                        {"name": "direct", "id": "call_D", "arguments": {"sku": "2"}},
                        {"name": "program", "id": "call_Q", "arguments": {"code": "text('at once')"}}]}})
    direct = {**STOCK, "name": "direct", "allowed_callers": ["direct"]}
    first = respond(client, tools=[PROGRAMS, STOCK, direct])
    assert types(first) == ["function_call", "program", "program", "function_call", "program_output"]
    own, made = [i for i in first.output if i.type == "function_call"]
    assert (own.call_id, own.status, own.caller, made.status) == ("call_D", "completed", None, "in_progress")
    second = respond(client, tools=[PROGRAMS, STOCK, direct], previous_response_id=first.id, input=[
        {"type": "function_call_output", "call_id": "call_D", "output": "d"}, output(made, "p")])
    assert types(second) == ["program_output", "message"]
    messages = upstream.chats()[-1]["messages"]
    assert [(m["tool_call_id"], m["content"]) for m in messages if m["role"] == "tool"] == [
        ("call_P", "p"), ("call_D", "d"), ("call_Q", "at once")]


def refused(client, **body):
    with pytest.raises(openai.APIStatusError) as caught:
        respond(client, **body)
    error = caught.value.body
    assert caught.value.status_code == 400 and error["type"] == "invalid_request_error"
    return error["code"], error["param"], error["message"]


@pytest.mark.parametrize("callers, code, param", [
    ("direct", "invalid_type", "tools[1].allowed_callers"),
    ([], "empty_array", "tools[1].allowed_callers"),
    (["code"], "invalid_value", "tools[1].allowed_callers[0]"),
    ([1], "invalid_type", "tools[1].allowed_callers[0]"),
    (["direct"] * 3, "array_above_max_length", "tools[1].allowed_callers"),
])
def test_wrong_allowed_callers(client, callers, code, param):
    assert refused(client, tools=[PROGRAMS, {**STOCK, "allowed_callers": callers}])[:2] == (code, param)


def test_a_tool_of_programs_cannot_be_chosen(client):
    code, param, message = refused(client, tool_choice={"type": "function", "name": "get_stock"})
    assert param == "tool_choice" and message == "Tool choice 'get_stock' not found in 'tools' parameter."


def test_programs_can_be_chosen(client, programs, upstream):
    programs("text(1)")
    respond(client, tool_choice=PROGRAMS)
    assert upstream.chats()[0]["tool_choice"] == {"type": "function", "function": {"name": "program"}}


def test_allowed_tools_hold_for_programs(client, programs, upstream):
    programs("text(typeof tools.text); text(typeof tools.get_stock);")
    both = {**BASIC, "allowed_callers": ["direct", "programmatic"]}
    body = {"tools": [PROGRAMS, STOCK, both]}
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [PROGRAMS]}
    assert respond(client, tool_choice=choice, **body).output[-2].result == "undefined\nfunction"
    description = upstream.chats()[0]["tools"][0]["function"]["description"]
    assert 'tools["get_stock"]' in description and 'tools["text"]' not in description
    choice["tools"].append({"type": "mcp", "server_label": "basic"})
    assert respond(client, tool_choice=choice, **body).output[-2].result == "function\nfunction"


def test_a_later_choice_lets_a_program_repeat_its_calls(client, programs):
    programs("await tools.get_stock({sku: 'a'}); text(typeof tools.text);")
    tools = [PROGRAMS, {**STOCK, "allowed_callers": ["direct", "programmatic"]},
             {**BASIC, "allowed_callers": ["direct", "programmatic"]}]
    first = respond(client, tools=tools)
    ended = respond(client, tools=tools, tool_choice="none", previous_response_id=first.id,
                    input=[output(first.output[-1], "1")]).output[0]
    assert (ended.type, ended.status, ended.result) == ("program_output", "completed", "undefined")


def test_what_a_waiting_program_needs(client, programs):
    programs(TWO)
    first = respond(client)
    program, a, b = first.output
    answers = [output(a, {"count": 1}), output(b, {"count": 2})]
    kept = [{"role": "user", "content": "go"}, program.model_dump(), a.model_dump(), b.model_dump()]

    message = f"No tool output found for function call {b.call_id}."
    assert refused(client, previous_response_id=first.id, input=answers[:1])[2] == message
    message = "Invalid 'tools': the program call_P waits for outputs, and no tool of this request runs programs."
    assert refused(client, previous_response_id=first.id, input=answers, tools=[STOCK]) == (
        "invalid_value", "tools", message)
    message = ("Invalid 'input': the program call_P waits for outputs, and its fingerprint is not the one that this "
               "server has made for its code.")
    for change in [{"fingerprint": "altered"}, {"code": "text(1)"}, {"fingerprint": program.fingerprint[:-2] + "AA"}]:
        kept[1] = {**program.model_dump(), **change}
        assert refused(client, input=kept + answers) == ("invalid_value", "input", message)
    kept[1] = program.model_dump()
    answers[0]["caller"] = {"type": "program"}
    assert refused(client, input=kept + answers)[:2] == ("missing_required_parameter", "input[4].caller.caller_id")
    answers[0]["caller"] = {"type": "robot"}
    assert refused(client, input=kept + answers)[:2] == ("invalid_value", "input[4].caller.type")
    del answers[0]["caller"], answers[1]["caller"]
    assert respond(client, input=kept + answers).output[0].result == "3"
    orphan = {"type": "program_output", "call_id": "call_X", "result": "1", "status": "completed"}
    assert refused(client, input=[orphan])[1:] == (
        "input", "No tool call found for program output with call_id call_X.")


def test_a_waiting_program_does_not_block_its_conversation(client, programs, upstream):
    programs(TWO)
    conversation = client.conversations.create().id
    for item in respond(client, conversation=conversation).output[1:]:
        client.conversations.items.delete(item.id, conversation_id=conversation)
    upstream.script({"answer": {"text": "Nothing."}})
    ended, message = respond(client, conversation=conversation, tools=[], input="and now?").output
    assert (ended.type, ended.call_id, ended.status) == ("program_output", "call_P", "incomplete")
    assert ended.result == "The program was not continued." and message.type == "message"
    assert types(respond(client, conversation=conversation, tools=[], input="and now?")) == ["message"]


def test_a_program_of_another_server_is_not_continued(client, upstream):
    upstream.script({"answer": {"text": "Nothing."}})
    theirs = {"type": "program", "id": "cm_1", "call_id": "call_1", "code": "text(1)", "fingerprint": "theirs"}
    ended = respond(client, input=[theirs, {"role": "user", "content": "go on"}]).output[0]
    assert (ended.type, ended.call_id, ended.status) == ("program_output", "call_1", "incomplete")
    assert read(upstream) == ["The program did not come to its end. The program was not continued."]


def test_a_program_must_repeat_itself(client, programs):
    programs(TWO)
    program, a, b = respond(client).output
    other = {**a.model_dump(), "arguments": '{"sku":"other"}'}
    ended = respond(client, input=[
        {"role": "user", "content": "go"}, program.model_dump(), other, b.model_dump(),
        output(a, {"count": 1}), output(b, {"count": 2})]).output[0]
    assert (ended.status, ended.result) == ("incomplete", "The program did not repeat itself.")


def test_a_program_of_another_server_that_has_ended_is_history(client, upstream):
    upstream.script({"answer": {"text": "Yes."}})
    respond(client, tools=[], input=[
        {"role": "user", "content": "go"},
        {"type": "program", "id": "cm_1", "call_id": "call_1", "code": "text(1)", "fingerprint": "theirs"},
        {"type": "function_call", "call_id": "call_2", "name": "f", "arguments": "{}",
         "caller": {"type": "program", "caller_id": "call_1"}},
        {"type": "function_call_output", "call_id": "call_2", "output": "x",
         "caller": {"type": "program", "caller_id": "call_1"}},
        {"type": "program_output", "id": "cmo_1", "call_id": "call_1", "result": "1", "status": "completed"},
        {"role": "user", "content": "go on"}])
    messages = upstream.chats()[-1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "program" and messages[2]["content"] == "1"


def test_events_come_in_openais_order(client, programs):
    programs(TWO)
    with client.responses.stream(model="demo", input="go", tools=[PROGRAMS, STOCK]) as stream:
        events = list(stream)
        first = stream.get_final_response()
    added, done = "response.output_item.added", "response.output_item.done"
    arguments = ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
    assert [e.type for e in events[2:-1]] == [added, done] + [added, *arguments, done] * 2
    assert events[2].item.code == "" and events[2].item.fingerprint == events[3].item.fingerprint
    assert events[3].item.code == TWO and events[7].item.status == "in_progress"
    assert [i.status for i in first.output[1:]] == ["in_progress"] * 2
    with client.responses.stream(model="demo", tools=[PROGRAMS, STOCK], previous_response_id=first.id, input=[
            output(i, {"count": 1}) for i in first.output[1:]]) as stream:
        events = list(stream)
    assert [e.type for e in events[2:4]] == [added, done]
    assert (events[2].item.type, events[2].item.status, events[2].item.result) == ("program_output", "completed", "")
    assert (events[3].item.status, events[3].item.result) == ("completed", "2")


def test_a_stored_response_shows_it_again(client, programs):
    programs(TWO)
    first = respond(client)
    assert [i.model_dump() for i in client.responses.retrieve(first.id).output] == [
        i.model_dump() for i in first.output]


def test_other_tools_of_the_client(client, programs):
    programs("""const [done, patched] = await Promise.all([
  tools.shell({commands: ['ls']}),
  tools.apply_patch({operation: {type: 'create_file', path: 'a.txt', diff: '+one'}})]);
text([done[0].stdout, patched]);""")
    tools = [PROGRAMS, {"type": "shell", "allowed_callers": ["programmatic"]},
             {"type": "apply_patch", "allowed_callers": ["programmatic", "direct"]}]
    first = respond(client, tools=tools)
    assert types(first) == ["program", "shell_call", "apply_patch_call"]
    shell, patch = first.output[1:]
    assert shell.action.commands == ["ls"] and patch.operation.path == "a.txt"
    caller = {"type": "program", "caller_id": "call_P"}
    assert shell.caller.model_dump() == patch.caller.model_dump() == caller
    second = respond(client, tools=tools, previous_response_id=first.id, input=[
        {"type": "shell_call_output", "call_id": shell.call_id, "caller": caller,
         "output": [{"stdout": "a.txt\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
        {"type": "apply_patch_call_output", "call_id": patch.call_id, "status": "completed", "output": "Created.",
         "caller": caller}])
    listed, patched = json.loads(second.output[0].result)
    assert listed == "a.txt\n" and "Created." in json.dumps(patched)


def test_other_tools_of_the_server(client, programs):
    programs("""const printed = await tools.python({code: "print(6 * 7); open('x.txt', 'w').write('four')"});
const [listed] = await tools.shell({commands: ['cat x.txt']});
text([printed, listed.stdout]);""")
    tools = [PROGRAMS, {"type": "code_interpreter", "container": {"type": "auto"}, "allowed_callers": ["programmatic"]},
             {"type": "shell", "environment": {"type": "container_auto"}, "allowed_callers": ["programmatic"]}]
    response = respond(client, tools=tools)
    assert types(response) == ["program", "code_interpreter_call", "shell_call", "shell_call_output", "program_output",
                               "message"]
    python, shell, shown = response.output[1:4]
    assert python.container_id == shell.environment.container_id
    assert python.caller["caller_id"] == shell.caller.caller_id == shown.caller.caller_id == "call_P"
    printed, listed = json.loads(response.output[4].result)
    assert "42" in str(printed) and listed == "four"


def test_a_program_has_no_files_and_no_container(client, programs):
    before = len(client.containers.list().data)
    programs("text(typeof process + typeof require + typeof fetch + typeof setTimeout + typeof console);")
    assert respond(client).output[1].result == "undefined" * 5
    assert len(client.containers.list().data) == before


def test_a_program_of_a_background_response_is_cancelled(client, programs):
    programs("await tools.test_slow({ms: 600000});")
    slow = {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never",
            "allowed_callers": ["programmatic"]}
    ended = []
    for event in respond(client, tools=[PROGRAMS, slow], background=True, stream=True):
        if event.type == "response.created":
            id = event.response.id
        elif event.type == "response.output_item.added" and event.item.type == "mcp_call":
            client.responses.cancel(id)
        elif event.type == "response.output_item.done":
            ended.append(event.item)
    assert [(i.type, i.status) for i in ended[2:]] == [("mcp_call", "incomplete"), ("program_output", "incomplete")]
    assert ended[3].result == "The response has ended before the program."
    programs("text(1)")
    next = respond(client, tools=[PROGRAMS, slow], previous_response_id=id, input="and now?")
    assert types(next)[-3:] == ["program", "program_output", "message"]


def test_a_stranger_cannot_continue_a_program(client, stranger, programs):
    programs(TWO)
    program, a, b = respond(client).output
    history = [{"role": "user", "content": "go"}, program.model_dump(), a.model_dump(), b.model_dump(),
               output(a, {"count": 1}), output(b, {"count": 2})]
    assert refused(stranger, input=history)[:2] == ("invalid_value", "input")
    assert respond(client, input=history).output[0].result == "3"


def test_a_program_waits_in_a_conversation(client, programs):
    programs(TWO)
    conversation = client.conversations.create().id
    first = respond(client, conversation=conversation)
    second = respond(client, conversation=conversation, input=[output(i, {"count": 2}) for i in first.output[1:]])
    assert types(second) == ["program_output", "message"] and second.output[0].result == "4"
    kept = [i.type for i in client.conversations.items.list(conversation, order="asc")]
    assert kept == ["message", "program", "function_call", "function_call", "function_call_output",
                    "function_call_output", "program_output", "message"]


def test_a_held_response_waits_for_the_approval_of_a_programs_call(server, http, programs):
    programs("text(await tools.text({input: 'four', operation: 'length'}));")
    kinds = []
    client = server.sdk(strict=False)  # strict it knows no event but its own
    with client.responses.stream(model="demo", input="go", tools=[PROGRAMS, {**BASIC, "require_approval": "always"}],
                                 extra_body={"runnel": {"approval": {"channel": "hold"}}}) as events:
        for event in events:
            if event.type == "keepalive":
                (question,) = event.runnel["approval_requests"]
                answer = http.post(f"/v1/runnel/approvals/{question['id']}", json={"approve": True})
                assert answer.status_code == 200
            elif event.type == "response.output_item.done":
                kinds.append(event.item.type)
        done = events.get_final_response()
    assert kinds == ["mcp_list_tools", "program", "mcp_call", "program_output", "message"]
    assert done.output[3].result == "4"


def test_a_history_with_a_gap_repeats_no_call(client, programs):
    programs("await Promise.all([tools.get_stock({sku: 'a'}), tools.text({input: 'four', operation: 'length'})]);"
             "text('end');")
    tools = [PROGRAMS, STOCK, BASIC]
    first = respond(client, tools=tools)
    kept = [i.model_dump(exclude_none=True) for i in first.output if i.type in ("program", "mcp_call")]
    assert [i["type"] for i in kept] == ["program", "mcp_call"]
    second = respond(client, tools=tools, input=[{"role": "user", "content": "go"}] + kept)
    assert [i.type for i in second.output if i.type in ("mcp_call", "program_output")] == ["program_output"]


def test_a_conversation_that_has_lost_a_call_repeats_no_other(client, programs):
    programs("await Promise.all([tools.get_stock({sku: 'a'}), tools.text({input: 'four', operation: 'length'})]);")
    tools = [PROGRAMS, STOCK, BASIC]
    conversation = client.conversations.create().id
    (call,) = [i for i in respond(client, tools=tools, conversation=conversation).output if i.type == "function_call"]
    client.conversations.items.delete(call.id, conversation_id=conversation)
    ended = respond(client, tools=tools, conversation=conversation, input="and now?").output[0]
    assert (ended.type, ended.status) == ("program_output", "incomplete")
    assert ended.result == "A call of the program, or its output, is missing."
