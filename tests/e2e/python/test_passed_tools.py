"""Tools that the upstream of a model executes itself (`passes` of an upstream): web search and pictures. The scripted
upstream plays OpenAI's streams, and streams with garbage."""

import base64
import json

import openai
import pytest

from harness.server import Server
from harness.tools import WEATHER_FLAT, call

SEARCH, DRAW = {"type": "web_search"}, {"type": "image_generation"}
WS, IG = "response.web_search_call", "response.image_generation_call"
PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
         "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
URL = "https://example.org/tea"
SOURCES = "web_search_call.action.sources"
SAID = f"Tea is hot ([example.org]({URL}))."
LINK = {"type": "url_citation", "start_index": 11, "end_index": len(SAID) - 1, "url": URL, "title": "Tea"}
ACTION = {"type": "search", "query": "tea", "queries": ["tea", "hot tea"],
          "sources": [{"type": "url", "url": URL}]}
USAGE = {"input_tokens": 30, "output_tokens": 7, "total_tokens": 37}


@pytest.fixture(scope="module")
def passing_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "passes"
    directory.mkdir(mode=0o755)
    config = directory / "runnel.yaml"
    url = upstream_process.url
    config.write_text(
        f"upstreams:\n"
        f"  - {{name: own, url: '{url}', dialect: responses, models: [plain]}}\n"
        f"  - {{name: other, url: '{url}', models: [chat]}}\n"
        f"  - {{name: able, url: '{url}', dialect: responses, models: ['*'], passes: [web_search, image_generation]}}\n")
    server = Server(binary, directory, None, recorder, config=config, database_url=database.new()).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(passing_server, upstream):
    return passing_server


# ---- The upstream ----

def ws(n=0, id="ws_up", action=ACTION, status="completed", stages=("in_progress", "searching", "completed")):
    events = [{"type": "response.output_item.added", "output_index": n,
               "item": {"id": id, "type": "web_search_call", "status": "in_progress"}}]
    events += [{"type": f"{WS}.{stage}", "output_index": n, "item_id": id} for stage in stages]
    return events + [{"type": "response.output_item.done", "output_index": n,
                      "item": {"id": id, "type": "web_search_call", "status": status, "action": action}}]


def ig(n=0, partial=2, result=PIXEL, status="completed", **more):
    item = {"id": "ig_up", "type": "image_generation_call", "status": status, "result": result,
            "revised_prompt": "a red cat", "size": "1024x1024", "quality": "low", "background": "opaque",
            "output_format": "png", "action": "generate", **more}
    events = [{"type": "response.output_item.added", "output_index": n,
               "item": {"id": "ig_up", "type": "image_generation_call", "status": "in_progress"}}]
    events += [{"type": f"{IG}.{stage}", "output_index": n, "item_id": "ig_up"} for stage in ("in_progress", "generating")]
    events += [{"type": f"{IG}.partial_image", "output_index": n, "item_id": "ig_up", "partial_image_index": i,
                "partial_image_b64": PIXEL, "size": "1024x1024"} for i in range(partial)]
    return events + [{"type": f"{IG}.completed", "output_index": n, "item_id": "ig_up"},
                     {"type": "response.output_item.done", "output_index": n, "item": item}]


def says(n=1, text=SAID, annotations=(LINK,)):
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    at = {"output_index": n, "content_index": 0}
    return [{"type": "response.output_item.added", "output_index": n,
             "item": {"id": "msg_up", "type": "message", "role": "assistant", "status": "in_progress", "content": []}},
            {"type": "response.output_text.delta", **at, "delta": text},
            *[{"type": "response.output_text.annotation.added", **at, "annotation_index": i, "annotation": one}
              for i, one in enumerate(annotations)],
            {"type": "response.content_part.done", **at, "part": part},
            {"type": "response.output_item.done", "output_index": n,
             "item": {"id": "msg_up", "type": "message", "role": "assistant", "status": "completed", "content": [part]}}]


def ended(**more):
    return [{"type": "response.completed",
             "response": {"id": "resp_up", "status": "completed", "output": [], "usage": USAGE, **more}}]


def plays(upstream, *turns):
    rules = [{"times": 1, "answer": {"events": [json.dumps(one) for one in turn]}} for turn in turns]
    upstream.script(*rules, {"answer": {"text": "And so on."}})


@pytest.fixture
def asked(upstream):
    """The bodies of the requests to the model."""
    return lambda: [r["body"] for r in upstream.requests() if r["path"] == "/v1/responses"]


def respond(client, **body):
    return client.responses.create(**{"model": "able", "input": "What is new?", "tools": [SEARCH], **body})


def stream(client, **body):
    with client.responses.stream(**{"model": "able", "input": "What is new?", "tools": [SEARCH], **body}) as made:
        return list(made), made.get_final_response()


# ---- Web search ----

def test_a_search_of_the_upstream_is_an_item_of_this_server(client, http, upstream, asked):
    plays(upstream, ws() + says() + ended())
    response = respond(client, tools=[{**SEARCH, "search_context_size": "low"}], include=[SOURCES])
    item, message = response.output
    assert (item.type, item.status, item.id[:3]) == ("web_search_call", "completed", "ws_") and item.id != "ws_up"
    assert item.to_dict()["action"] == ACTION
    assert message.content[0].annotations[0].to_dict() == LINK and SAID[11:LINK["end_index"]].startswith("([example.org]")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (30, 7)
    (request,) = asked()
    assert request["tools"] == [{**SEARCH, "search_context_size": "low"}] and "tool_choice" not in request
    assert request["include"] == ["reasoning.encrypted_content", SOURCES]
    assert "upstream" not in response.to_json()
    stored = http.get(f"/v1/responses/{response.id}").json()["output"]
    assert stored[0]["action"] == {key: ACTION[key] for key in ("type", "query", "queries")}
    included = http.get(f"/v1/responses/{response.id}?include={SOURCES}").json()["output"]
    assert included == response.to_dict()["output"]


def test_events_of_a_search_come_in_openais_order(client, upstream):
    plays(upstream, ws() + ws(1, "ws_two", {"type": "open_page", "url": URL})
          + ws(2, "ws_three", {"type": "find_in_page", "url": URL, "pattern": "hot"}) + says(3) + ended())
    events, final = stream(client)
    kinds = [event.type for event in events]
    begin = kinds.index("response.output_item.added")
    one = ["response.output_item.added", f"{WS}.in_progress", f"{WS}.searching", f"{WS}.completed",
           "response.output_item.done"]
    assert kinds[begin:begin + 15] == one * 3
    ids = [event.item_id for event in events if event.type.startswith(WS)]
    assert ids == [item.id for item in final.output[:3] for _ in range(3)] and len(set(ids)) == 3
    assert [item.action.type for item in final.output[:3]] == ["search", "open_page", "find_in_page"]
    assert "response.output_text.annotation.added" in kinds


@pytest.mark.parametrize("stages", [(), ("completed", "searching", "searching"), ("nonsense", "partial_image")])
def test_stages_that_an_upstream_forgets_or_repeats_are_put_right(client, upstream, stages):
    plays(upstream, ws(stages=stages) + says() + ended())
    kinds = [event.type for event in stream(client)[0] if event.type.startswith(WS)]
    assert kinds == [f"{WS}.in_progress", f"{WS}.searching", f"{WS}.completed"]


@pytest.mark.parametrize("how", ["previous", "conversation", "input"])
def test_a_search_goes_back_to_its_upstream_as_its_own(client, upstream, asked, how):
    plays(upstream, ws() + says() + ended())
    conversation = client.conversations.create() if how == "conversation" else None
    more = {"conversation": conversation.id} if conversation else {}
    first = respond(client, **more)
    if how == "previous":
        more = {"previous_response_id": first.id}
    sent = [item.to_dict() for item in first.output] if how == "input" else []
    respond(client, input=[*sent, {"role": "user", "content": "And then?"}], **more)
    request = asked()[-1]
    assert [item.get("type", "message") for item in request["input"]][-3:] == ["web_search_call", "message", "message"]
    back = request["input"][-3]
    action = {key: ACTION[key] for key in ("type", "query", "queries")}
    assert back.pop("id") == "ws_up" if how != "input" else back.pop("id").startswith("ws_")
    assert back == {"type": "web_search_call", "status": "completed", "action": action}


@pytest.mark.parametrize("model", ["chat", "plain"])
def test_another_upstream_does_not_get_the_search(client, upstream, model):
    plays(upstream, ws() + says() + ended())
    first = respond(client)
    respond(client, model=model, input="And then?", previous_response_id=first.id)
    last = [r["body"] for r in upstream.requests() if r["path"] in ("/v1/responses", "/v1/chat/completions")][-1]
    assert "web_search" not in json.dumps(last) and SAID in json.dumps(last)


@pytest.mark.parametrize("action", [None, 7, {"type": "dance"}, [], "search"])
def test_garbage_is_a_failed_call(client, upstream, action):
    plays(upstream, ws(action=action) + says(annotations=[{"type": "url_citation", "url": 5, "start_index": "x"}]) + ended())
    events, final = stream(client)
    item, message = final.output
    assert (item.status, item.action.type) == ("failed", "search") and message.content[0].text == SAID
    assert [event.type for event in events if event.type.startswith(WS)][-1] == f"{WS}.completed"


def test_a_call_that_is_never_done_is_a_failed_call(client, upstream):
    plays(upstream, ws()[:2] + ended())
    _, final = stream(client)
    assert [item.status for item in final.output] == ["failed"]


def test_more_searches_than_an_answer_may_have_fail_it(client, http, upstream):
    plays(upstream, [event for n in range(129) for event in ws(n, f"ws_{n}")] + says(129) + ended())
    events = []
    with pytest.raises(openai.APIError):
        for event in respond(client, stream=True):
            events.append(event)
    added = [event.item.type for event in events if event.type == "response.output_item.added"]
    assert added == ["web_search_call"] * 128


def test_strange_members_of_an_action_are_left_out(client, upstream):
    plays(upstream, ws(action={"type": "search", "query": 5, "queries": ["tea", None, "x" * 5000], "more": {"a": 1},
                               "sources": [{"url": URL, "secret": 1}, 7, {"type": "url"}]}) + says() + ended())
    response = respond(client, include=[SOURCES])
    assert response.output[0].to_dict()["action"] == {
        "type": "search", "query": "", "queries": ["tea"], "sources": [{"type": "url", "url": URL}]}


def test_an_upstream_that_breaks_off_leaves_a_failed_call(client, upstream):
    upstream.script({"answer": {"events": [json.dumps(one) for one in ws()[:3]], "fault": {"kind": "cut", "after": 3}}})
    events = []
    with pytest.raises(Exception):
        for event in client.responses.create(model="able", input="Hi", tools=[SEARCH], stream=True):
            events.append(event)
    failed = [event for event in events if event.type == "response.failed"]
    assert not failed or [item.status for item in failed[0].response.output] == ["failed"]


# ---- What passes ----

def test_nothing_passes_to_an_upstream_without_the_word(client, upstream, asked):
    plays(upstream, ws() + says() + ended())
    response = respond(client, model="plain")
    assert asked()[0].get("tools", []) == []
    assert [item.type for item in response.output] == ["message"]  # what was not asked for is no item
    assert response.to_dict()["runnel"]["unavailable_tools"][0]["type"] == "web_search"


def test_a_policy_that_asks_keeps_the_tool_here(client, upstream, asked):
    policy = {"runnel": {"permissions": {"hosted/web_search": {"execution": "ask-always"}}}}
    with pytest.raises(openai.BadRequestError, match="is no tool of this request"):  # and here nothing searches
        respond(client, extra_body=policy)
    assert asked() == []


@pytest.mark.parametrize("choice, sent", [
    ({"type": "web_search_preview"}, {"type": "web_search"}), ("required", "required"),
    ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}, {"type": "web_search"})])
def test_a_choice_of_the_tool_passes(client, upstream, asked, choice, sent):
    plays(upstream, ws() + says() + ended())
    respond(client, tool_choice=choice, tools=[SEARCH, WEATHER_FLAT])
    assert asked()[0]["tool_choice"] == sent


def test_the_limit_of_calls_counts_them(client, upstream, asked):
    made = [{"type": "response.output_item.done", "output_index": 2,
             "item": {"type": "function_call", "call_id": "call_1", "name": "echo", "arguments": '{"text": "a"}'}}]
    plays(upstream, ws() + ws(1, "ws_two") + made + ended(), says(0) + ended())
    respond(client, max_tool_calls=3, tools=[SEARCH, {
        "type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never"}])
    first, second = asked()
    assert first["max_tool_calls"] == 3 and "web_search" in [tool["type"] for tool in first["tools"]]
    assert "web_search" not in [tool["type"] for tool in second["tools"]] and "max_tool_calls" not in second


def test_a_function_of_the_passed_tools_name_is_not_executed_here(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "So."}},
                    {"answer": {"tool_calls": [call("web_search", 1, queries=["tea"])]}})
    response = respond(client)
    assert [item.type for item in response.output] == ["mcp_call", "message"]
    assert response.output[0].error


# ---- Pictures ----

def test_a_picture_of_the_upstream_is_an_item_with_previews(client, http, upstream, asked):
    plays(upstream, ig() + says(text="Here.", annotations=()) + ended())
    events, final = stream(client, tools=[{**DRAW, "partial_images": 2, "quality": "low"}])
    kinds = [event.type for event in events]
    begin = kinds.index("response.output_item.added")
    assert kinds[begin:begin + 7] == [
        "response.output_item.added", f"{IG}.in_progress", f"{IG}.generating", f"{IG}.partial_image",
        f"{IG}.partial_image", f"{IG}.completed", "response.output_item.done"]
    item = final.output[0]
    assert (item.id[:3], item.status, item.result) == ("ig_", "completed", PIXEL) and item.id != "ig_up"
    assert {key: item.to_dict()[key] for key in ("revised_prompt", "size", "quality", "background")} == {
        "revised_prompt": "a red cat", "size": "1024x1024", "quality": "low", "background": "opaque"}
    partial = events[begin + 3]
    assert (partial.partial_image_b64, partial.partial_image_index, partial.item_id) == (PIXEL, 0, item.id)
    (request,) = asked()
    assert request["tools"] == [{**DRAW, "partial_images": 2, "quality": "low"}]
    assert http.get(f"/v1/responses/{final.id}").json()["output"][0]["result"] == PIXEL


def test_a_picture_goes_back_to_its_upstream(client, upstream, asked):
    plays(upstream, ig() + says(text="Here.", annotations=()) + ended())
    first = respond(client, tools=[DRAW])
    respond(client, tools=[DRAW], input="With a hat.", previous_response_id=first.id)
    (back,) = [item for item in asked()[-1]["input"] if item.get("type") == "image_generation_call"]
    assert back == {"type": "image_generation_call", "id": "ig_up", "status": "completed", "result": PIXEL}


def test_another_model_reads_that_a_picture_was_drawn(client, upstream):
    plays(upstream, ig() + says(text="Here.", annotations=()) + ended())
    first = respond(client, tools=[DRAW])
    respond(client, model="chat", input="What is on it?", previous_response_id=first.id)
    messages = upstream.chats()[-1]["messages"]
    assert any("A picture was drawn" in str(message.get("content")) for message in messages)
    assert PIXEL not in json.dumps(messages)


@pytest.mark.parametrize("more", [{"result": None}, {"result": "no base64!"}, {"status": "failed", "error": {
    "code": "moderation_blocked", "message": "No."}}, {"result": 7}])
def test_a_picture_that_is_none_is_a_failed_call(client, upstream, more):
    plays(upstream, ig(partial=0, **more) + says(text="Sorry.", annotations=()) + ended())
    _, final = stream(client, tools=[DRAW])
    item = final.output[0].to_dict()
    assert (item["status"], item["result"]) == ("failed", None)
    assert item["error"]["code"] == ("moderation_blocked" if "error" in more else "server_error")


def test_previews_with_garbage_are_left_out(client, upstream):
    events = ig(partial=1)
    for strange in ({"partial_image_b64": "%%"}, {"partial_image_b64": PIXEL, "partial_image_index": 9}, {}):
        events.insert(3, {"type": f"{IG}.partial_image", "output_index": 0, "partial_image_index": 0, **strange})
    plays(upstream, events + says(text="Here.", annotations=()) + ended())
    seen, _ = stream(client, tools=[DRAW])
    assert [event.type for event in seen].count(f"{IG}.partial_image") == 1


def test_a_mask_that_is_a_file_of_this_server_keeps_the_tool_here(client, upstream, asked):
    uploaded = client.files.create(file=("hole.png", base64.b64decode(PIXEL)), purpose="vision")
    upstream.answer(text="Hi.")
    respond(client, tools=[{**DRAW, "input_image_mask": {"file_id": uploaded.id}}, WEATHER_FLAT])
    assert [tool["type"] for tool in asked()[0]["tools"]] == ["function"]


# ---- Assistants ----

def test_a_run_of_a_thread_shows_the_search_as_a_function(server, upstream):
    plays(upstream, ws() + says() + ended())
    lenient = server.sdk(strict=False)
    assistant = lenient.beta.assistants.create(model="able", tools=[SEARCH])
    run = lenient.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "What is new?"}]})
    assert run.status == "completed"
    steps = lenient.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id, order="asc").data
    (made,) = steps[0].step_details.tool_calls
    shown = made.to_dict()
    assert (shown["type"], shown["function"]["name"]) == ("function", "web_search")
    assert json.loads(shown["function"]["arguments"])["queries"] == ["tea", "hot tea"]
    assert shown["runnel"]["action"]["query"] == "tea"
    (message,) = [m for m in lenient.beta.threads.messages.list(run.thread_id).data if m.role == "assistant"]
    assert message.content[0].text.value == SAID and message.content[0].text.annotations == []
