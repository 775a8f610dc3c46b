"""Variables: results of tools and notes of the model, by name, for tools, the model and clients."""

import json
import re
import subprocess
from contextlib import ExitStack

import pytest

from harness.raw_model import RawModel
from harness.server import eventually
from harness.tools import call
from harness.websocket import WebSocket

VARS = {"type": "mcp", "server_label": "vars", "server_url": "builtin:vars",
        "require_approval": "never"}
TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
LONG = "0123456789abcdef"  # test_short shows ten characters
NAME = r"test_(short|slow)_\d{14}-[0-9a-z]{7}"


def turns(upstream, *calls, text="Done."):
    """The model makes one call after another, then speaks. A call is (name, arguments)."""
    upstream.forget()
    upstream.script(*({"match": {"tool_results": n},
                       "answer": {"tool_calls": [{"name": name, "id": f"call_{n + 1}",
                                                  "arguments": arguments}]}}
                      for n, (name, arguments) in enumerate(calls)), {"answer": {"text": text}})


@pytest.fixture
def ask(client, upstream):
    """ask((name, arguments), ..., more of the request) -> the response."""
    def ask(*calls, **body):
        turns(upstream, *calls)
        body.setdefault("tools", [TEST, VARS])
        response = client.responses.create(model="demo", input="go", **body)
        assert response.status == "completed", response
        return response
    return ask


def calls_of(response):
    return [item for item in response.output if item.type == "mcp_call"]


def outputs(response):
    return [item.output if item.error is None else item.model_dump()["error"]["content"][0]["text"]
            for item in calls_of(response)]


def names_of(response, n=0):
    return calls_of(response)[n].runnel["variables"]


def sent(upstream):
    """The tool messages of the last request."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


# ---- Results and arguments ----

@pytest.mark.feature("F27", "F28")
@pytest.mark.threads
def test_a_shortened_result_is_kept_whole(ask, upstream):
    first = ask(("test_short", {"text": LONG}))
    names = names_of(first)
    assert re.fullmatch(NAME + "_result", names["result"])
    assert names["args"] == names["result"].removesuffix("result") + "args"
    name = names["result"]
    assert sent(upstream) == [
        "01234\n\n... too long, characters left out here: 6 ...\n\nbcdef"
        "\n<!--ToolCallLog:Begin-->\n"
        "[system log] The result was cut to 10 characters. The full result (16 characters) is kept "
        f"in the variable `{name}`.\n"
        f"[system hint] Pass it on without repeating it: `$VAR_REF{{{{{name}}}}}`. To read on, call "
        f'`ReadVar` with {{"name":"{name}","start":5,"length":6}}; consider first whether you need '
        "it.\n<!--ToolCallLog:End-->"]
    assert outputs(first) == sent(upstream)
    again = ask(("ReadVar", {"name": name}), ("ReadVar", {"name": name, "start": 5, "length": 6}),
                ("ReadVar", {"name": names["args"]}), previous_response_id=first.id)
    assert outputs(again) == [LONG, "56789a", json.dumps({"text": LONG}, indent=2)]
    listed = ask(("ListVars", {"filter": {"type": "ToolCallResult"}}),
                 previous_response_id=first.id)
    assert outputs(listed) == [
        f"Available Variables (filtered: type=ToolCallResult):\n- {name}\n"
        "  - Type: ToolCallResult; Len: 16\n"
        f"  - Desc: Call test_short with args: text={LONG}\n  - Tags: []\nPage 1/1 (total: 1)."]


@pytest.mark.feature("F28")
def test_an_uncut_result_is_named_as_complete(ask, upstream):
    (output,) = outputs(ask(("test_slow", {"text": "short"})))
    assert output.startswith("short\n<!--ToolCallLog:Begin-->\n[system log] This is the complete "
                             "result (5 characters).")
    assert sent(upstream) == [output]


@pytest.mark.feature("F28")
def test_a_result_too_long_to_keep_keeps_its_beginning(ask, http):
    """And the hint does not say that it is complete."""
    root = ask(("WriteVar", {"name": "half", "value": "x" * 600000}))
    response = ask(("test_slow", {"text": "$VAR_REF{{half}}$VAR_REF{{half}}", "limit": 10}),
                   previous_response_id=root.id)
    kept = 2**20 - len("\n\n... too long to be kept whole ...")
    name = names_of(response)["result"]
    assert (f"Of the full result (1200000 characters) the first {kept} are kept in the variable `{name}`.\n"
            in outputs(response)[0])
    value = accepted(http.get(f"/v1/runnel/responses/{response.id}/variables/{name}?start={kept - 1}"))["value"]
    assert value == "x\n\n... too long to be kept whole ..."


@pytest.mark.feature("F04")
def test_the_error_of_a_call_is_not_cut_by_its_limit(ask, upstream):
    """There is nowhere else to read it."""
    response = ask(("test_fail", {"message": "The disk is full.", "limit": 3}),
                   ("test_slow", {"text": "$VAR_REF{{none}}", "limit": 1}),
                   ("test_fail", {"message": "m" * 9000, "limit": 3}),
                   extra_body={"runnel": {"truncation": {"limit": 4}}})
    assert sent(upstream) == outputs(response)
    disk, missing, long = outputs(response)
    assert disk == "The disk is full."
    assert missing == "Variable 'none' not found. Available variables: none"
    assert len(long) <= 8100 and "is_truncated" not in calls_of(response)[0].runnel


@pytest.mark.feature("F04")
def test_a_name_that_is_cut_in_an_error_stays_text(ask):
    response = ask(("ReadVar", {"name": "变" * 60}))
    assert outputs(response)[0].startswith(f"Variable '{'变' * 42}' not found.")


@pytest.mark.feature("F28")
def test_the_hint_names_no_tool_that_is_not_offered(ask, upstream):
    without = {"runnel": {"tool_groups": {"vars": False}}}
    response = ask(("test_short", {"text": LONG}), tools=[TEST], extra_body=without)
    (output,) = outputs(response)
    assert sent(upstream) == [output] and output.startswith("01234") and output.endswith("bcdef")
    assert outputs(ask(("ReadVar", {"name": names_of(response)["result"]}),
                       previous_response_id=response.id)) == [LONG]


@pytest.mark.feature("F14", "F28")
def test_readers_that_came_along_are_named_only_after_cut_results(ask, upstream):
    """An application that knows nothing of variables gets whole results as they are."""
    response = ask(("test_slow", {"text": "short"}), ("test_short", {"text": LONG}), tools=[TEST])
    whole, cut = outputs(response)
    assert sent(upstream) == [whole, cut] and whole == "short"
    assert f'`ReadVar` with {{"name":"{names_of(response, 1)["result"]}"' in cut
    assert outputs(ask(("ReadVar", {"name": names_of(response, 1)["result"], "start": 5}),
                       previous_response_id=response.id, tools=[TEST])) == ["56789abcdef"]


@pytest.mark.feature("F07", "F27", "F29")
def test_some_results_are_not_kept(ask):
    """Failures, hidden calls, tools that want it so, and those that are about variables."""
    response = ask(("test_fail", {"message": "no"}), ("test_hidden", {"pieces": ["h"]}),
                   ("test_unkept", {"text": "u"}), ("WriteVar", {"name": "w", "value": "1"}),
                   ("ListVars", {}))
    assert not any("variables" in (getattr(item, "runnel", None) or {})
                   for item in calls_of(response))
    listed = outputs(response)[-1]
    assert "- w\n" in listed and "Result" not in listed and "Args" not in listed


@pytest.mark.feature("F27")
def test_a_result_can_be_referred_to_in_the_same_response(ask, client, upstream):
    """The next turn finds the results of the last one, also of a call that ended before it was shown."""
    upstream.script({"match": {"tool_results": 0}, "answer": {"tool_calls": [
                        call("test_slow", 1, text="one", ms=100), call("test_slow", 2, text="two")]}},
                    {"match": {"tool_results": 2}, "answer": {"tool_calls": [
                        call("ListVars", 3, filter={"search": "test_slow"})]}},
                    {"answer": {"text": "Done."}})
    response = client.responses.create(model="demo", input="go", tools=[TEST, VARS])
    kept = {name for item in calls_of(response)[:2] for name in item.runnel["variables"].values()}
    assert len(kept) == 4
    assert set(re.findall(r"^- (.*)$", outputs(response)[-1], re.M)) == kept


# ---- References ----

@pytest.mark.feature("F23", "F25")
@pytest.mark.threads
def test_references_are_replaced_by_values(ask):
    name = names_of(first := ask(("test_slow", {"text": "hello"})))["result"]
    written = {"text": f"<$VAR_REF{{{{{name}}}}}|$VAR_REF{{{{{name}:1:3}}}}|$VAR_REF{{{{x.y}}}}>"}
    second = ask(("test_slow", written), previous_response_id=first.id, tools=[TEST])
    assert outputs(second) == ["<hello|ell|$VAR_REF{{x.y}}>"]
    assert json.loads(calls_of(second)[0].arguments) == written
    args = names_of(second)["args"]
    (read,) = outputs(ask(("ReadVar", {"name": args}), previous_response_id=second.id))
    assert json.loads(read) == {"text": "<hello|ell|$VAR_REF{{x.y}}>"}


@pytest.mark.feature("F25")
def test_references_are_resolved_before_the_schema_is_checked(ask):
    """The value is what has to fit."""
    response = ask(("WriteVar", {"name": "zone", "value": "Mars/Olympus"}),
                   ("ListVars", {"filter": {"type": "$VAR_REF{{zone}}"}}))
    assert "Invalid ListVars parameters" in outputs(response)[1]
    assert calls_of(response)[1].status == "failed"


@pytest.mark.feature("F24")
def test_a_reference_to_an_unknown_variable_is_not_executed(ask, tmp_path):
    counted = tmp_path / "count"
    response = ask(("WriteVar", {"name": "a", "value": "$VAR_REF{{b}}"}), previous_response_id=None)
    assert outputs(response) == ["Variable 'b' not found. Available variables: none"]
    response = ask(("WriteVar", {"name": "a", "value": "1"}),
                   ("test_count", {"path": str(counted), "text": "$VAR_REF{{none}}"}))
    assert outputs(response)[1] == "Variable 'none' not found. Available variables: a"
    assert calls_of(response)[1].status == "failed" and not counted.exists()


@pytest.mark.feature("F24")
def test_circular_references_are_named(ask, http):
    first = ask(("test_slow", {}))
    base = f"/v1/runnel/responses/{first.id}/variables"
    for name, value in (("a", "$VAR_REF{{b}}"), ("b", "$VAR_REF{{a}}")):
        assert http.post(base, json={"name": name, "value": value}).status_code == 200
    second = ask(("test_slow", {"text": "$VAR_REF{{a}}"}), previous_response_id=first.id)
    assert outputs(second) == ["Circular variable reference: a -> b -> a"]


@pytest.mark.feature("F26")
def test_references_within_a_result_are_not_resolved(ask):
    """Neither itself, nor when the model has put it into a variable of its own."""
    first = ask(("WriteVar", {"name": "secret", "value": "s3cret"}),
                ("test_slow", {"text": "page: $VAR_REF{{sec"}), tools=[TEST, VARS])
    page = names_of(first, 1)["result"]
    # Text of a tool that has come to be a reference: as a page would bring it.
    second = ask(("test_stream", {"text": "$VAR_REF{{", "pieces": []}),
                 previous_response_id=first.id, tools=[TEST])
    opening = names_of(second)["result"]
    third = ask(("WriteVar", {"name": "copy",
                              "value": f"$VAR_REF{{{{{opening}}}}}secret" + "}}"}),
                ("ReadVar", {"name": "copy"}),
                ("test_slow", {"text": "$VAR_REF{{copy}}|$VAR_REF{{" + page + "}}"}),
                ("WriteVar", {"name": "copy", "value": "mine: $VAR_REF"}),
                previous_response_id=second.id, tools=[TEST, VARS])
    assert outputs(third)[1] == "$VAR_REF{{secret}}"
    assert outputs(third)[2].startswith("$VAR_REF{{secret}}|page: $VAR_REF{{sec\n")


# ---- The model's own ----

@pytest.mark.feature("F30", "F33")
def test_the_model_can_write_list_and_remove_variables(ask):
    response = ask(("WriteVar", {"name": "b", "value": "1", "desc": "The b", "tags": ["x", "y"]}),
                   ("WriteVar", {"name": "b", "value": "22"}),
                   ("WriteVar", {"name": "a", "value": "1"}),
                   ("WriteVar", {"name": "none", "desc": "nothing"}),
                   ("WriteVar", {"name": "Rule/Agent/VarRef", "value": "mine"}),
                   ("ListVars", {"filter": {"type": "LLMAdd"}, "pageSize": 1}),
                   ("ListVars", {"filter": {"tag": "y"}}),
                   ("RemoveVars", {"names": ["a", "none", "Rule/Agent/VarRef"]}),
                   ("ReadVar", {"name": "a"}), max_tool_calls=20,
                   extra_body={"runnel": {"rounds": {"max": 20}}})
    assert outputs(response) == [
        "Variable 'b' created successfully.",
        "Variable 'b' updated successfully.",
        "Variable 'a' created successfully.",
        "Variable 'none' does not exist; a new one needs a value.",
        "Variable 'Rule/Agent/VarRef' is a rule and cannot be changed.",
        "Available Variables (filtered: type=LLMAdd):\n- a\n  - Type: LLMAdd; Len: 1\n"
        "  - Desc: N/A\n  - Tags: []\nPage 1/2 (total: 2)."
        ' Next page: ListVars({"filter":{"type":"LLMAdd"},"pageSize":1,"page":2})',
        'Available Variables (filtered: tag="y"):\n- b\n  - Type: LLMAdd; Len: 2\n'
        "  - Desc: The b\n  - Tags: [x, y]\nPage 1/1 (total: 1).",
        "Removed 1 variable(s). Failed to remove 2 variable(s): none, Rule/Agent/VarRef.",
        "Variable 'a' not found."]


@pytest.mark.feature("F21")
def test_rules_can_be_read_and_listed(ask):
    response = ask(("ReadVar", {"name": "Rule/Agent/VarRef"}),
                   ("ListVars", {"filter": {"type": "RULE", "search": "varref"}}))
    assert "$VAR_REF{{" in outputs(response)[0]
    assert "- Rule/Agent/VarRef\n  - Type: RULE; Len: " in outputs(response)[1]
    assert outputs(response)[1].endswith("Page 1/1 (total: 1).")


# ---- Whose they are ----

@pytest.mark.feature("F32")
def test_branches_have_separate_variables(ask):
    root = ask(("WriteVar", {"name": "v", "value": "root"}))
    left = ask(("WriteVar", {"name": "v", "value": "left"}), previous_response_id=root.id)
    right = ask(("ReadVar", {"name": "v"}), previous_response_id=root.id)
    assert outputs(right) == ["root"]
    assert outputs(ask(("ReadVar", {"name": "v"}), previous_response_id=left.id)) == ["left"]
    assert outputs(ask(("ReadVar", {"name": "v"}))) == ["Variable 'v' not found."]


@pytest.mark.feature("F32")
def test_a_conversation_and_its_thread_share_variables(ask, client, upstream, http):
    conversation = client.conversations.create()
    ask(("WriteVar", {"name": "v", "value": "1"}), conversation=conversation.id)
    assert outputs(ask(("ReadVar", {"name": "v"}), conversation=conversation.id)) == ["1"]
    turns(upstream, ("test_slow", {"text": "<$VAR_REF{{v}}>"}))
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [TEST, VARS]}).json()
    thread = conversation.id.replace("conv_", "thread_")
    base = f"/v1/threads/{thread}/runs"
    run = http.post(base, json={"assistant_id": assistant["id"], "additional_messages": [
        {"role": "user", "content": "go"}]}).json()
    eventually(lambda: http.get(f"{base}/{run['id']}").json(), lambda r: r["status"] == "completed")
    assert sent(upstream)[-1].startswith("<1>\n<!--ToolCallLog")
    (step,) = [s for s in http.get(f"{base}/{run['id']}/steps").json()["data"]
               if s["type"] == "tool_calls"]
    output = step["step_details"]["tool_calls"][0]["function"]["output"]
    assert output.startswith("<1>\n<!--ToolCallLog")


# ---- Of responses that are not stored ----

def calls(*asked):
    """What a model streams that calls functions."""
    return [{"tool_calls": [{"index": n, "id": f"call_{name}_{n}", "type": "function",
                             "function": {"name": name, "arguments": json.dumps(arguments)}}
                            for n, (name, arguments) in enumerate(asked)]}]


def outputs_in(chat):
    return [m["content"] for m in chat["messages"] if m["role"] == "tool"]


def name_in(text):
    return re.search(r"kept in the variable `([^`]+)`", text)[1]


@pytest.fixture
def mind(start_server, database):
    """A model that remembers names: its answers are functions of the request."""
    model = RawModel()
    yield model, start_server(upstream_url=model.url, database_url=database.new())
    model.close()


@pytest.mark.feature("F23", "F27", "F28", "F32")
@pytest.mark.slow
def test_a_response_that_is_not_stored_keeps_variables_until_its_end(mind, database):
    """In memory: the same names, texts and references, and nothing of it in the database."""
    model, server = mind
    client, secret = server.sdk(), "never-to-be-written-anywhere"
    whole = {"text": secret}
    model.answers = [
        calls(("test_short", whole)),
        lambda chat: calls(("ReadVar", {"name": name_in(outputs_in(chat)[0])}),
                           ("ReadVar", {"name": name_in(outputs_in(chat)[0]).replace("_result",
                                                                                  "_args")})),
        lambda chat: calls(("test_short", {"text": "$VAR_REF{{%s:0:9}}" % name_in(outputs_in(chat)[0]),
                                           "limit": 0}),
                           ("WriteVar", {"name": "v", "value": "one"}),
                           ("test_slow", {"text": "<$VAR_REF{{none}}>"})),
        calls(("ListVars", {"filter": {"type": "LLMAdd"}})),
        calls(("RemoveVars", {"names": ["v", "none"]})),
        calls(("ReadVar", {"name": "v"})),
        [{"content": "Done."}]]
    response = client.responses.create(model="demo", input="go", tools=[TEST, VARS], store=False)
    assert response.status == "completed", response
    cut, read, args, resolved, written, missing, listed, removed, gone = outputs_in(model.chats[-1])
    name = name_in(cut)
    assert re.fullmatch(NAME + "_result", name)
    assert f"The full result ({len(secret)} characters) is kept" in cut and read == secret
    assert args == json.dumps(whole, indent=2)
    assert resolved.startswith(secret[:9] + "\n<!--ToolCallLog:Begin-->")
    assert written == "Variable 'v' created successfully."
    assert missing.startswith("Variable 'none' not found. Available variables: ") and name in missing
    assert listed.startswith("Available Variables (filtered: type=LLMAdd):\n- v\n")
    assert removed == "Removed 1 variable(s). Failed to remove 1 variable(s): none."
    assert gone == "Variable 'v' not found."
    assert not any("variables" in (getattr(item, "runnel", None) or {})
                   for item in calls_of(response))
    url = server.settings["database_url"]
    dump = subprocess.run([database.bin / "pg_dump", "-a", url], capture_output=True, check=True)
    assert dump.stdout and secret.encode() not in dump.stdout
    model.answers = [calls(("ReadVar", {"name": name}), ("ListVars", {"filter": {
        "type": "ToolCallResult"}})), [{"content": "Done."}]]
    client.responses.create(model="demo", input="go", tools=[TEST, VARS], store=False)
    assert outputs_in(model.chats[-1]) == [
        f"Variable '{name}' not found.",
        "Available Variables (filtered: type=ToolCallResult):\nPage 1/1 (total: 0)."]


@pytest.mark.feature("F26", "F32")
def test_references_within_a_result_in_memory_are_not_resolved(ask, upstream):
    """The same rules of trust, and the readers come along."""
    response = ask(("WriteVar", {"name": "inner", "value": "deep"}),
                   ("WriteVar", {"name": "outer", "value": "[$VAR_REF"}),
                   ("WriteVar", {"name": "outer", "value": "[$VAR_REF{{inner}}]"}),
                   ("ReadVar", {"name": "outer"}),
                   ("test_slow", {"text": "$VAR_REF{{outer}}"}), store=False)
    # A value with a reference that was resolved when it was written is text of others ever after.
    assert outputs(response)[3] == "[deep]"
    assert outputs(response)[4].startswith("[deep]\n<!--ToolCallLog:Begin-->")
    assert ask(("ReadVar", {"name": "Rule/Agent/VarRef"}), store=False,
               tools=[TEST]).output[1].error is None


@pytest.mark.feature("F32")
def test_a_response_that_is_not_stored_neither_sees_nor_changes_a_conversations_variables(ask, client, http):
    conversation = client.conversations.create()
    base = f"/v1/runnel/conversations/{conversation.id}/variables"
    accepted(http.post(base, json={"name": "v", "value": "1"}))
    response = ask(("ReadVar", {"name": "v"}), ("WriteVar", {"name": "w", "value": "2"}),
                   ("test_slow", {"text": "$VAR_REF{{w}}"}), conversation=conversation.id,
                   store=False)
    assert outputs(response)[:2] == ["Variable 'v' not found.",
                                     "Variable 'w' created successfully."]
    assert outputs(response)[2].startswith("2\n")
    assert [v["name"] for v in accepted(http.get(base))["data"]] == ["v"]


@pytest.mark.feature("F32", "F110")
@pytest.mark.slow
def test_variables_survive_kill_9(start_server, upstream):
    """Also in the middle of the call that they are for: what it was to be given is known."""
    server = start_server(lease_ttl=1)
    client = server.sdk()
    turns(upstream, ("test_slow", {"text": "first"}))
    first = client.responses.create(model="demo", input="go", tools=[TEST, VARS])
    name = names_of(first)["result"]
    written = {"text": f"<$VAR_REF{{{{{name}}}}}>", "ms": 3000, "path": "/dev/null"}
    turns(upstream, ("test_count_idempotent", written))
    second = client.responses.create(model="demo", input="go", tools=[TEST, VARS],
                                     previous_response_id=first.id, background=True)
    eventually(lambda: upstream.chats(), len)
    server.kill()
    server.start()
    client = server.sdk()
    done = eventually(lambda: client.responses.retrieve(second.id),
                      lambda r: r.status not in ("queued", "in_progress"), seconds=60)
    assert done.status == "completed", done
    assert outputs(done)[-1].startswith("<first>\n<!--ToolCallLog")
    turns(upstream, ("ReadVar", {"name": name}))
    third = client.responses.create(model="demo", input="go", tools=[TEST, VARS],
                                    previous_response_id=second.id)
    assert outputs(third) == ["first"]


# ---- The client's ----

def accepted(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer, status, message, param=None):
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert (error["message"], error["param"]) == (message, param)


@pytest.fixture(params=["threads", "conversations", "responses"])
def base(request, http, ask):
    """The path of the variables of something that has none yet."""
    if request.param == "responses":
        of = ask().id
    else:
        of = accepted(http.post(f"/v1/{request.param}", json={}))["id"]
    return f"/v1/runnel/{request.param}/{of}/variables"


@pytest.mark.feature("F33")
def test_a_client_can_put_read_and_remove_variables(http, base):
    made = accepted(http.post(base, json={"name": "a", "value": "0\u00e42345", "tags": ["x"],
                                          "description": "The a"}))
    assert made["value"] == "0\u00e42345" and made["type"] == "USER_ADD"
    assert (made["length"], made["bytes"], made["keep"]) == (6, 7, False)
    assert accepted(http.get(f"{base}/a?start=1&length=2"))["value"] == "\u00e42"
    assert accepted(http.get(f"{base}/a?start=9"))["value"] == ""
    assert accepted(http.get(f"{base}/a?length=0"))["value"] == ""
    changed = accepted(http.post(f"{base}/a", json={"keep": True}))
    assert changed["keep"] and changed["value"] == made["value"] and changed["tags"] == ["x"]
    refused(http.delete(f"{base}/a"), 400, "Variable 'a' is kept: set 'keep' to false first.")
    accepted(http.post(base, json={"name": "b", "value": "1"}))
    stats = accepted(http.get(f"{base}/stats"))
    assert (stats["total"], stats["bytes"], stats["kept"]) == (2, 8, 1)
    assert stats["by_type"]["USER_ADD"] == 2
    assert accepted(http.delete(f"{base}?type=LLMAdd"))["deleted"] == 0
    assert accepted(http.delete(base))["deleted"] == 1
    accepted(http.post(f"{base}/a", json={"keep": False}))
    assert accepted(http.delete(f"{base}/a")) == {"id": "a", "object": "variable.deleted",
                                                  "deleted": True}
    refused(http.get(f"{base}/a"), 404, "Variable 'a' not found.")
    refused(http.delete(f"{base}/a"), 404, "Variable 'a' not found.")


@pytest.mark.feature("F33")
def test_variables_are_listed_in_pages(http, base):
    for name in ("c", "a", "b"):
        accepted(http.post(base, json={"name": name, "value": name, "tags": [f"t{name}"]}))
    page = accepted(http.get(f"{base}?order=asc&limit=2"))
    assert [v["name"] for v in page["data"]] == ["a", "b"] and page["has_more"]
    assert "value" not in page["data"][0]
    page = accepted(http.get(f"{base}?order=asc&limit=2&after={page['last_id']}"))
    assert [v["name"] for v in page["data"]] == ["c"] and not page["has_more"]
    assert [v["name"] for v in accepted(http.get(base))["data"]] == ["c", "b", "a"]
    for query, names in (("tag=tb", ["b"]), ("search=A", ["a"]), ("type=ToolCallArgs", [])):
        found = accepted(http.get(f"{base}?{query}"))["data"]
        assert [v["name"] for v in found] == names, query


@pytest.mark.feature("F33")
def test_invalid_requests_name_the_parameter(http, base):
    refused(http.post(base, json={"value": "1"}), 400, "Missing required parameter: 'name'.", "name")
    refused(http.post(base, json={"name": "a"}), 400, "Missing required parameter: 'value'.",
            "value")
    refused(http.post(base, json={"name": "Rule/x", "value": "1"}), 400,
            "Invalid 'name': 'Rule/x'. Expected at most 128 letters, digits, underscores and "
            "hyphens.", "name")
    refused(http.post(base, json={"name": "stats", "value": "1"}), 400,
            "Invalid 'name': 'stats' is the name of something else here.", "name")
    refused(http.post(base, json={"name": "a", "value": "x" * (2**20 + 1)}), 400,
            "Invalid 'value': string too long. Expected at most 1048576 bytes, but got 1048577 "
            "instead.", "value")
    refused(http.post(base, json={"name": "a", "value": "1", "tags": ["x", 1]}), 400,
            "Invalid type for 'tags[1]': expected a string, but got an integer instead.", "tags[1]")
    accepted(http.post(base, json={"name": "a", "value": "1"}))
    refused(http.post(base, json={"name": "a", "value": "2"}), 400,
            "Variable 'a' exists already.")
    refused(http.post(f"{base}/none", json={"value": "2"}), 404, "Variable 'none' not found.")
    refused(http.get(f"{base}/a?start=-1"), 400,
            "Invalid 'start': '-1'. Expected a whole number from 0 on.", "start")
    answer = http.get(f"{base}?type=rule")
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "type"


@pytest.mark.feature("F33")
def test_a_misspelt_parameter_is_refused(http, base):
    """Neither keeps less than was meant, nor shows or removes more."""
    refused(http.post(base, json={"name": "a", "value": "1", "keeep": True}), 400,
            "Unknown parameter: 'keeep'. Did you mean 'keep'?", "keeep")
    accepted(http.post(base, json={"name": "a", "value": "1"}))
    refused(http.post(f"{base}/a", json={"valeu": "2"}), 400,
            "Unknown parameter: 'valeu'. Did you mean 'value'?", "valeu")
    refused(http.post(f"{base}/a", json={"type": "RULE"}), 400, "Unknown parameter: 'type'.", "type")
    refused(http.delete(f"{base}?tpye=LLMAdd"), 400,
            "Unknown parameter: 'tpye'. Did you mean 'type'?", "tpye")
    refused(http.delete(f"{base}?type=LLMAdd&tag=x"), 400, "Unknown parameter: 'tag'.", "tag")
    refused(http.get(f"{base}?serch=b"), 400, "Unknown parameter: 'serch'. Did you mean 'search'?", "serch")
    refused(http.get(f"{base}/a?lenght=1"), 400,
            "Unknown parameter: 'lenght'. Did you mean 'length'?", "lenght")
    for method, path, body in (("DELETE", f"{base}/a", None), ("POST", f"{base}/a", {"value": "2"}),
                               ("POST", base, {"name": "b", "value": "2"})):
        refused(http.request(method, f"{path}?keep=true", json=body), 400,
                "Unknown parameter: 'keep'.", "keep")
    assert [(v["name"], v["keep"]) for v in accepted(http.get(base))["data"]] == [("a", False)]


@pytest.mark.feature("F32", "F33")
def test_other_projects_find_no_variables(http, base, stranger_key):
    accepted(http.post(base, json={"name": "a", "value": "1"}))
    of = base.split("/")[-2]
    for method, path, body in (("GET", "", None), ("POST", "", {"name": "b", "value": "1"}),
                               ("DELETE", "", None), ("GET", "/stats", None), ("GET", "/a", None),
                               ("POST", "/a", {"value": "2"}), ("DELETE", "/a", None)):
        answer = http.request(method, base + path, json=body,
                              headers={"Authorization": f"Bearer {stranger_key}"})
        assert answer.status_code == 404 and of.split("_")[1] in answer.text, (method, path)
    assert [v["name"] for v in accepted(http.get(base))["data"]] == ["a"]


@pytest.mark.feature("F33")
def test_the_model_can_read_a_clients_variables(ask, http, client):
    conversation = client.conversations.create()
    base = f"/v1/runnel/conversations/{conversation.id}/variables"
    accepted(http.post(base, json={"name": "inner", "value": "deep"}))
    accepted(http.post(base, json={"name": "outer", "value": "<$VAR_REF{{inner}}>"}))
    response = ask(("test_slow", {"text": "$VAR_REF{{outer}}"}), conversation=conversation.id)
    assert outputs(response)[0].startswith("<deep>\n")
    thread = base.replace("conversations/conv_", "threads/thread_")
    types = {v["type"]: v["name"] for v in accepted(http.get(thread))["data"]}
    assert set(types) == {"USER_ADD", "ToolCallResult", "ToolCallArgs"}
    of_response = f"/v1/runnel/responses/{response.id}/variables/{types['ToolCallResult']}"
    assert accepted(http.get(of_response))["value"] == "<deep>"


@pytest.mark.feature("F32")
def test_changing_variables_of_a_response_affects_only_its_branch(ask, http):
    root = ask(("WriteVar", {"name": "v", "value": "root"}))
    left = ask(previous_response_id=root.id)
    base = f"/v1/runnel/responses/{left.id}/variables"
    assert accepted(http.get(f"{base}/v"))["type"] == "LLMAdd"
    accepted(http.post(f"{base}/v", json={"value": "left"}))
    assert outputs(ask(("ReadVar", {"name": "v"}), previous_response_id=left.id)) == ["left"]
    assert outputs(ask(("ReadVar", {"name": "v"}), previous_response_id=root.id)) == ["root"]


# ---- Given with a request ----

GIVEN = [{"name": "a", "value": "deep", "desc": "The a", "tags": ["x"]},
         {"name": "b", "value": "<$VAR_REF{{a}}>"}]
LISTED = ("Available Variables (filtered: type=USER_ADD):\n- a\n  - Type: USER_ADD; Len: 4\n"
          "  - Desc: The a\n  - Tags: [x]\n- b\n  - Type: USER_ADD; Len: 15\n  - Desc: N/A\n"
          "  - Tags: []\nPage 1/1 (total: 2).")


def giving(*variables):
    return {"runnel": {"variables_in": list(variables)}}


@pytest.mark.feature("F23", "F33")
@pytest.mark.threads
@pytest.mark.parametrize("more", [{}, {"store": False}, {"conversation": True}, {"stream": True}])
def test_a_response_finds_variables_of_its_request(client, upstream, http, more):
    """The model's instructions do not mention it, and every reference finds it."""
    turns(upstream, ("test_slow", {"text": "$VAR_REF{{b}}"}),
          ("ListVars", {"filter": {"type": "USER_ADD"}}))
    more = dict(more)
    if more.get("conversation"):
        more["conversation"] = client.conversations.create().id
    response = client.responses.create(model="demo", input="go", tools=[TEST, VARS],
                                       extra_body=giving(*GIVEN), **more)
    if more.get("stream"):
        response = [e for e in response if e.type == "response.completed"][0].response
    assert outputs(response)[0].startswith("<deep>\n") and outputs(response)[1] == LISTED
    assert "deep" not in json.dumps(upstream.chats()[0])
    assert "variables_in" not in response.model_dump_json()
    base = f"/v1/runnel/responses/{response.id}/variables"
    if more.get("store") is False:
        assert http.get(base).status_code == 404
        return
    a = accepted(http.get(f"{base}/a"))
    assert (a["value"], a["type"], a["description"], a["tags"], a["keep"]) == (
        "deep", "USER_ADD", "The a", ["x"], False)


@pytest.mark.feature("F32", "F33")
def test_variables_of_a_request_belong_to_its_branch(ask):
    root = ask(("ListVars", {"filter": {"type": "USER_ADD"}}), extra_body=giving(*GIVEN))
    left = ask(("ReadVar", {"name": "a"}), previous_response_id=root.id,
               extra_body=giving({"name": "a", "value": "left"}))
    right = ask(("ReadVar", {"name": "a"}), previous_response_id=root.id)
    assert outputs(left) == ["left"] and outputs(right) == ["deep"]
    assert outputs(ask(("ReadVar", {"name": "a"}), previous_response_id=left.id)) == ["left"]


@pytest.mark.feature("F33")
def test_variables_of_a_request_replace_existing_ones(ask, http):
    """As a whole: it is the client's now, and references in it are followed."""
    first = ask(("WriteVar", {"name": "v", "value": "old", "desc": "Old", "tags": ["x"]}))
    second = ask(("test_slow", {"text": "$VAR_REF{{v}}"}), previous_response_id=first.id,
                 extra_body=giving(GIVEN[0], {"name": "v", "value": "[$VAR_REF{{a}}]"}))
    assert outputs(second)[0].startswith("[deep]\n")
    v = accepted(http.get(f"/v1/runnel/responses/{second.id}/variables/v"))
    assert (v["type"], v["description"], v["tags"]) == ("USER_ADD", None, [])


@pytest.mark.feature("F32", "F68")
def test_a_continuation_has_no_variables_of_a_response_that_is_not_stored(server, upstream):
    """A connection remembers what was said in a response that was not stored, and none of its variables."""
    ws = WebSocket(server)
    try:
        turns(upstream, ("test_short", {"text": "$VAR_REF{{b}}", "limit": 0}))
        first = ws.ask(input="go", tools=[TEST, VARS], store=False, **giving(*GIVEN))
        assert sent(upstream)[0].startswith("<deep>\n<!--ToolCallLog:Begin-->")
        turns(upstream, ("ReadVar", {"name": "a"}))
        second = ws.ask(input="on", tools=[TEST, VARS], store=False,
                        previous_response_id=first["id"], runnel={"history": "compact"})
    finally:
        ws.socket.close()
    assert second["status"] == "completed"
    assert sent(upstream) == ["Variable 'a' not found."]
    (past,) = [m["content"] for m in upstream.chats()[0]["messages"]
               if "Executed tools:" in (m["content"] or "")]
    assert "- `test_short`\n" in past and "(args=" not in past


@pytest.mark.feature("F23", "F33")
@pytest.mark.parametrize("face", ["run", "thread_and_run"])
def test_a_run_finds_variables_of_its_request(client, upstream, http, face):
    turns(upstream, ("test_slow", {"text": "$VAR_REF{{b}}"}))
    assistant = client.beta.assistants.create(model="demo", extra_body={
        "runnel": {"tool_groups": {"test": True}}})
    said = [{"role": "user", "content": "go"}]
    if face == "run":
        thread = client.beta.threads.create(messages=said)
        run = client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, extra_body=giving(*GIVEN))
    else:
        run = client.beta.threads.create_and_run_poll(
            assistant_id=assistant.id, thread={"messages": said}, extra_body=giving(*GIVEN))
    assert run.status == "completed", run
    assert sent(upstream) == ["<deep>"]
    assert "deep" not in json.dumps(upstream.chats()[0])
    base = f"/v1/runnel/threads/{run.thread_id}/variables"
    assert [v["name"] for v in accepted(http.get(f"{base}?type=USER_ADD"))["data"]] == ["b", "a"]


@pytest.mark.feature("F33")
def test_a_refused_run_stores_no_variables(client, upstream, http):
    upstream.script({"answer": {"text": "Done.", "delay_ms": 60000}})
    assistant = client.beta.assistants.create(model="demo")
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    base = f"/v1/threads/{thread.id}/runs"
    run = accepted(http.post(base, json={"assistant_id": assistant.id, **giving(GIVEN[0])}))
    second = http.post(base, json={"assistant_id": assistant.id,
                                   **giving({"name": "c", "value": "1"})})
    assert second.status_code == 400
    listed = accepted(http.get(f"/v1/runnel/threads/{thread.id}/variables"))["data"]
    assert [v["name"] for v in listed] == ["a"]
    accepted(http.post(f"{base}/{run['id']}/cancel"))


@pytest.mark.feature("F33")
@pytest.mark.parametrize("path", ["responses", "threads/runs"])
def test_invalid_variables_are_named(client, http, path):
    body = {"model": "demo", "input": "go"}
    if path != "responses":
        body = {"assistant_id": client.beta.assistants.create(model="demo").id}
    here = "runnel.variables_in"
    for given, param, message in (
            ({}, here, f"Invalid type for '{here}': expected an array, but got an object instead."),
            ([{"name": "a"}], f"{here}[0].value",
             f"Missing required parameter: '{here}[0].value'."),
            ([{"name": "a b", "value": "1"}], f"{here}[0].name",
             f"Invalid '{here}[0].name': 'a b'. Expected at most 128 letters, digits, underscores "
             "and hyphens."),
            ([GIVEN[0], GIVEN[0]], f"{here}[1].name",
             f"Invalid '{here}[1].name': 'a' is given twice."),
            ([{"name": "a", "value": "1", "type": "RULE"}], f"{here}[0].type",
             f"Unknown parameter: '{here}[0].type'."),
            ([{"name": f"v{n}", "value": "1"} for n in range(33)], here,
             f"Invalid '{here}': array too long. Expected an array with maximum length 32, but got "
             "an array with length 33 instead.")):
        refused(http.post(f"/v1/{path}", json={**body, "runnel": {"variables_in": given}}), 400,
                message, param)
    refused(http.post("/v1/threads", json=giving(GIVEN[0])), 400,
            f"Unknown parameter: '{here}'.", here)


@pytest.mark.feature("F31", "F33")
@pytest.mark.slow
def test_a_project_has_a_share_of_the_memory(http, upstream, stranger_key):
    """Variables in memory. Later ones are refused for lack of room, and other projects have theirs."""
    mib = "x" * (1 << 20)
    full = giving(*({"name": f"v{n}", "value": mib} for n in range(9)))
    body = {"model": "demo", "input": "go", "store": False, "tools": [VARS, TEST]}
    upstream.script(
        {"match": {"user": "hold"}, "answer": {"text": "a b", "piece_delay_ms": 3600000}},
        {"match": {"tool_results": 3}, "answer": {"text": "Done."}},
        {"answer": {"tool_calls": [call("WriteVar", 1, name="big", value="y" * 200000),
                                   call("WriteVar", 2, name="small", value="y"),
                                   call("test_slow", 3, text="z" * 200000)]}})

    def hold(stack, given):
        held = stack.enter_context(http.stream("POST", "/v1/responses", json={
            **body, "input": "hold", "stream": True, **given}))
        assert held.status_code == 200
        pieces = held.iter_text()  # it is closed with the last reference to this
        next(pieces)
        return pieces

    with ExitStack() as stack:
        held = [hold(stack, full) for _ in range(7)]
        held.append(hold(stack, giving({"name": "v", "value": "x" * 900000})))
        refusal = http.post("/v1/responses", json={**body, **full})
        assert refusal.json()["error"] == {
            "message": "The variables of responses that are not stored take too much memory. "
                       "Please retry in a few seconds.",
            "type": "requests", "param": None, "code": "rate_limit_exceeded"}
        assert refusal.status_code == 429
        accepted(http.post("/v1/responses", json=body))
        big, small, result = sent(upstream)
        assert big.endswith("There is no room for variable 'big': the variables of responses that are not "
                            "stored take too much memory. Write less, remove others, or retry later.")
        assert small == "Variable 'small' created successfully."
        assert result.startswith("zzz") and "_result" not in result
        accepted(http.post("/v1/responses", json={**body, **full},
                           headers={"Authorization": f"Bearer {stranger_key}"}))
        assert sent(upstream)[0] == "Variable 'big' created successfully."
    eventually(lambda: http.post("/v1/responses", json={**body, **full}).status_code,
               lambda status: status == 200, seconds=60)


@pytest.mark.feature("F33", "F110")
@pytest.mark.slow
def test_variables_of_a_request_survive_kill_9(start_server, upstream):
    """From the moment on from which its run is known."""
    server = start_server(lease_ttl=1)
    upstream.script({"answer": {"text": "Done.", "delay_ms": 60000}})
    http = server.http()
    assistant = accepted(http.post("/v1/assistants", json={"model": "demo"}))
    run = accepted(http.post("/v1/threads/runs", json={
        "assistant_id": assistant["id"], "thread": {"messages": [{"role": "user",
                                                                  "content": "go"}]},
        **giving(*GIVEN)}))
    response = accepted(http.post("/v1/responses", json={
        "model": "demo", "input": "go", "background": True, **giving(*GIVEN)}))
    server.kill()
    server.start()
    http = server.http()
    for path in (f"threads/{run['thread_id']}", f"responses/{response['id']}"):
        assert accepted(http.get(f"/v1/runnel/{path}/variables/a"))["value"] == "deep"
