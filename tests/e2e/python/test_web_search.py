"""The tool web_search on both APIs: items, events, what a request may set, citations, and how searches fail. The search
service is the scripted upstream, which speaks SearXNG's JSON."""

import json
import re

import pytest
from openai import AssistantEventHandler

from harness.server import Server, eventually
from harness.tools import call

TOOL = {"type": "web_search"}
NAMES = ["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"]
KIND = "response.web_search_call"
ONE, TWO, THREE = "https://example.org/one", "https://www.example.net/two", "https://example.com/three"
SOURCES = "web_search_call.action.sources"


@pytest.fixture(scope="module")
def searching_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "searches"
    directory.mkdir(mode=0o755)
    url = upstream_process.url
    config = directory / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: model, url: '{url}', models: ['*'], api_key: sk-model}}]\n"
                      f"web_search: [{{provider: searxng, url: '{url.removesuffix('/v1')}', timeout: '20'}}]\n"
                      "tools: {permissions: {web: {execution: auto, result: never}}}\n")
    server = Server(binary, directory, None, recorder, config=config, database_url=database.new()).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(searching_server, upstream):
    return searching_server


@pytest.fixture
def searches(upstream):
    """The model searches, and then says something. `rules` come first."""
    def searches(*calls, rules=(), text="Found.", split="word"):
        calls = calls or ({"queries": ["tea"]},)
        upstream.script(*rules, {"match": {"tool_results": True}, "answer": {"text": text, "split": split}},
                        {"answer": {"tool_calls": [call("web_search", n + 1, **one) for n, one in enumerate(calls)]}})
    return searches


def fault(times=None, **kind):
    return {"match": {"path": "/search"}, "answer": {"fault": kind}, **({"times": times} if times else {})}


def found(*results):
    """A rule: the search service finds these. It answers as the generic fault does, with any body."""
    return fault(kind="status", status=200, body={"results": list(results)})


def asked(upstream):
    """The parameters of each request to the search service."""
    return [r["body"] for r in upstream.requests() if r["path"].startswith("/search")]


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "What is new?", "tools": [TOOL], **body})


def read(upstream):
    """What the model has read of its calls."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


# ---- Responses ----

@pytest.mark.parametrize("name", NAMES)
def test_a_call_is_an_item_with_its_action(client, http, searches, upstream, name):
    searches({"queries": ["tea", "green tea"]})
    response = respond(client, tools=[{"type": name}], include=[SOURCES])
    item, message = response.output
    assert (item.type, item.status, item.id[:3]) == ("web_search_call", "completed", "ws_")
    assert item.to_dict()["action"] == {
        "type": "search", "query": "tea", "queries": ["tea", "green tea"],
        "sources": [{"type": "url", "url": url} for url in (ONE, TWO, THREE)]}
    assert "results" not in item.to_dict() and message.content[0].text == "Found."
    assert sorted(one["q"] for one in asked(upstream)) == ["green tea", "tea"]
    (text,) = read(upstream)
    assert text.startswith("3 results. Cite each page that you use by a link")
    assert f"\n\n[1] tea, page 1 — {ONE}\nWhat page 1 says about tea.\n\n[2] " in text
    offered = upstream.chats()[0]["tools"][0]
    assert offered["function"]["name"] == "web_search"
    stored = http.get(f"/v1/responses/{response.id}").json()
    assert "sources" not in stored["output"][0]["action"]
    shown = http.get(f"/v1/responses/{response.id}", params={"include[]": SOURCES}).json()
    assert shown["output"][0] == item.to_dict()


def test_results_are_shown_to_those_who_include_them(client, searches):
    searches()
    item = respond(client, include=["web_search_call.results"]).output[0].to_dict()
    assert item["results"][0] == {"url": ONE, "title": "tea, page 1", "snippet": "What page 1 says about tea."}
    assert "sources" not in item["action"] and "output" not in item["runnel"]


def test_events_come_in_openais_order(client, searches):
    searches()
    with client.responses.stream(model="demo", input="Tea?", tools=[TOOL]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [e.type for e in events]
    begin = kinds.index("response.output_item.added")
    assert kinds[begin:begin + 5] == ["response.output_item.added", f"{KIND}.in_progress", f"{KIND}.searching",
                                      f"{KIND}.completed", "response.output_item.done"]
    added, done = events[begin].item, events[begin + 4].item
    assert (added.status, added.id) == ("in_progress", done.id)
    assert added.to_dict()["action"] == {"type": "search", "query": ""}
    assert {e.item_id for e in events[begin + 1:begin + 4]} == {done.id}
    assert final.output[0].to_dict() == done.to_dict() and done.to_dict()["action"]["queries"] == ["tea"]


def test_the_entry_is_shown_with_its_defaults(client, searches):
    searches()
    nowhere = {"type": "approximate", "city": None, "country": None, "region": None, "timezone": None}
    assert respond(client).to_dict()["tools"] == [
        {"type": "web_search", "search_context_size": "medium", "user_location": nowhere, "filters": None}]
    entry = {**TOOL, "search_context_size": "low", "filters": {"allowed_domains": ["example.com"]},
             "user_location": {"type": "approximate", "city": "Paris", "country": "FR"}}
    assert respond(client, tools=[entry]).to_dict()["tools"] == [
        {**entry, "user_location": {**nowhere, "city": "Paris", "country": "FR"}}]


def test_what_the_entry_says_reaches_the_search(client, searches, upstream):
    searches({"queries": ["tea"], "freshness": "week"})
    response = respond(client, include=[SOURCES], tools=[
        {**TOOL, "filters": {"allowed_domains": ["example.net", "example.com"]},
         "user_location": {"type": "approximate", "city": "Paris", "country": "FR", "timezone": "Europe/Paris"}}])
    assert [s["url"] for s in response.output[0].to_dict()["action"]["sources"]] == [TWO, THREE]
    (one,) = asked(upstream)
    assert one["time_range"] == "week" and one["q"] == "tea (site:example.net OR site:example.com)"
    offered = upstream.chats()[0]["tools"][0]
    assert offered["function"]["description"].endswith(
        "\nThe user is in Paris, FR, Europe/Paris. Only pages of these domains are found: example.net, example.com.")


@pytest.mark.parametrize("size, count, length", [("low", 5, 300), ("medium", 10, 500), ("high", 20, 800)])
def test_the_context_size_says_how_much_the_model_reads(client, searches, upstream, size, count, length):
    pages = [{"url": f"https://example.com/{n}", "title": "t" * 500, "content": "ü" * 900} for n in range(30)]
    searches(rules=[found(*pages)])
    item = respond(client, tools=[{**TOOL, "search_context_size": size}],
                   include=["web_search_call.results"]).output[0].to_dict()
    assert len(item["results"]) <= count and item["results"][0]["snippet"] == "ü" * length + "…"
    assert len(item["results"]) == (count if size != "high" else 17)  # 32 KiB of 1,800 bytes each
    assert item["results"][0]["title"] == "t" * 200 + "…"
    assert read(upstream)[0].count("https://example.com/") == len(item["results"]) + 1  # the example of a link


def test_a_choice_may_name_the_tool_by_any_of_its_types(http, searches, upstream):
    for name in NAMES:
        searches()
        answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", "tools": [TOOL],
                                                  "tool_choice": {"type": name}})
        assert answer.status_code == 200
        sent = [chat["tool_choice"] for chat in upstream.chats() if "tool_choice" in chat]
        assert sent[-1] == {"type": "function", "function": {"name": "web_search"}}


def test_a_function_of_the_client_keeps_its_name(client, upstream):
    upstream.answer(text="Hi.")
    respond(client, tools=[TOOL, {"type": "function", "name": "web_search", "parameters": {}}])
    assert [tool["function"]["name"] for tool in upstream.chats()[0]["tools"]] == [
        "hosted__web_search", "open_page", "find_in_page", "web_search"]


BAD = [
    ({"search_context_size": "huge"}, "tools[0].search_context_size", "invalid_value"),
    ({"filters": {"allowed_domains": ["https://a.org"]}}, "tools[0].filters.allowed_domains[0]", "invalid_value"),
    ({"filters": {"allowed_domains": [7]}}, "tools[0].filters.allowed_domains[0]", "invalid_type"),
    ({"filters": {"allowed_domains": ["a.org"] * 101}}, "tools[0].filters.allowed_domains", "array_above_max_length"),
    ({"filters": []}, "tools[0].filters", "invalid_type"),
    ({"user_location": {"type": "exact"}}, "tools[0].user_location.type", "invalid_value"),
    ({"user_location": {"type": "approximate", "country": "France"}}, "tools[0].user_location.country", "invalid_value"),
    ({"user_location": {"type": "approximate", "city": "x" * 257}}, "tools[0].user_location.city",
     "string_above_max_length"),
    ({"external_web_access": "no"}, "tools[0].external_web_access", "invalid_type"),
]


@pytest.mark.parametrize("entry, param, code", BAD)
def test_a_bad_entry_is_refused(http, upstream, entry, param, code):
    for path in ("/v1/responses", "/v1/assistants"):
        answer = http.post(path, json={"model": "demo", "tools": [{**TOOL, **entry}],
                                       **({"input": "Hi"} if path.endswith("responses") else {})})
        assert answer.status_code == 400, answer.text
        error = answer.json()["error"]
        assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert upstream.chats() == []


def test_a_second_search_is_refused(http):
    error = http.post("/v1/responses", json={"model": "demo", "input": "Hi", "tools": [
        TOOL, {"type": "web_search_preview"}]}).json()["error"]
    assert (error["param"], error["code"]) == ("tools[1]", "duplicate_tool")


# ---- Citations ----

def cited(part):
    """Each annotation with the text that it covers, in code points as Python counts them."""
    return [(part.text[note.start_index:note.end_index], note.url, note.title)
            for note in part.annotations if note.type == "url_citation"]


TEXT = f"Grüner Tee 🍵 ([example.org]({ONE}#top)). Also [two]({TWO}/), [no](https://example.org/no) and ![x]({THREE})."
CITED = [(f"([example.org]({ONE}#top))", f"{ONE}#top", "tea, page 1"), (f"[two]({TWO}/)", f"{TWO}/", "tea, page 2")]


def test_links_to_pages_that_were_found_are_cited_and_no_others(client, searches):
    searches(text=TEXT)
    (part,) = respond(client).output[-1].content
    assert part.text == TEXT and cited(part) == CITED


@pytest.mark.parametrize("split", ["whole", "word", *range(1, 24)])
def test_the_stream_is_the_same_however_the_text_is_cut(client, searches, split):
    searches(text=TEXT, split=split)
    with client.responses.stream(model="demo", input="Tea?", tools=[TOOL]) as stream:
        events = list(stream)
        (part,) = stream.get_final_response().output[-1].content
    kinds = [e.type.removeprefix("response.") for e in events]
    last = len(kinds) - kinds[::-1].index("output_text.delta")
    assert kinds[last:] == ["output_text.annotation.added"] * 2 + ["output_text.done", "content_part.done",
                                                                   "output_item.done", "completed"]
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == TEXT
    added = [e for e in events if e.type.endswith("annotation.added")]
    assert [e.annotation_index for e in added] == [0, 1]
    assert [dict(e.annotation) for e in added] == [dict(note) for note in part.annotations]
    assert events[-2].item.content[0].annotations == part.annotations and cited(part) == CITED


def test_without_a_search_nothing_is_cited(client, upstream):
    upstream.answer(text=TEXT)
    assert respond(client).output[0].content[0].annotations == []


@pytest.mark.parametrize("how", ["previous", "conversation", "items", "sources alone"])
def test_pages_of_earlier_turns_can_be_cited(client, searches, upstream, how):
    searches()
    more = {"conversation": client.conversations.create().id} if how == "conversation" else {}
    include = {"items": ["web_search_call.results"], "sources alone": [SOURCES]}.get(how, [])
    first = respond(client, include=include, store=how in ("previous", "conversation"), **more)
    upstream.answer(text=TEXT)
    if how == "previous":
        more = {"previous_response_id": first.id}
    elif not more:
        more = {"input": [*(item.to_dict() for item in first.output), {"role": "user", "content": "And?"}], "store": False}
    (part,) = respond(client, **more).output[-1].content
    titles = [(text, url, url.split("#")[0].rstrip("/")) for text, url, _ in CITED]
    assert cited(part) == (titles if how == "sources alone" else CITED)
    assert len(read(upstream)) == (0 if how == "sources alone" else 1)
    if how != "sources alone":
        assert read(upstream)[0].startswith("3 results. Cite each page")


def test_several_searches_of_one_response_bring_their_pages(client, searches, upstream):
    pages = [{"url": f"https://example.com/{n}", "title": f"T{n}", "content": "c"} for n in range(2)]
    upstream.script({**found(pages[0]), "times": 1}, {**found(pages[1]), "times": 1},
                    {"match": {"tool_results": 2}, "answer": {"text": "[a](https://example.com/0)[b](https://example.com/1)"}},
                    {"match": {"tool_results": 1}, "answer": {"tool_calls": [call("web_search", 2, queries=["b"])]}},
                    {"answer": {"text": "Hm [a](https://example.com/0).", "tool_calls": [call("web_search", queries=["a"])]}})
    response = respond(client)
    assert [item.type for item in response.output] == ["message", "web_search_call", "web_search_call", "message"]
    assert response.output[0].content[0].annotations == []
    assert [title for _, _, title in cited(response.output[-1].content[0])] == ["T0", "T1"]


def test_pages_of_a_strangers_search_cannot_be_cited(searching_server, client, searches, upstream):
    searches()
    respond(client)
    stranger = client.with_options(api_key=searching_server.new_key("readers"))
    upstream.answer(text=TEXT)
    assert respond(stranger).output[0].content[0].annotations == []


# ---- Failures ----

@pytest.mark.parametrize("kind", [dict(kind="status", status=500), dict(kind="status", status=429, retry_after=0),
                                  dict(kind="garbage"), dict(kind="cut"), dict(kind="status", status=200, body={"a": 1})],
                         ids=["500", "429", "garbage", "cut", "no list"])
def test_a_search_that_fails_is_a_failed_item_and_the_model_reads_why(client, searches, upstream, kind):
    searches(rules=[fault(**kind)])
    with client.responses.stream(model="demo", input="Tea?", tools=[TOOL]) as stream:
        kinds = [e.type for e in stream]
        response = stream.get_final_response()
    item, message = response.output
    assert (item.status, response.status, message.content[0].text) == ("failed", "completed", "Found.")
    assert item.to_dict()["action"] == {"type": "search", "query": "tea", "queries": ["tea"]}
    assert kinds[-1] == "response.completed" and kinds.count("response.output_item.done") == 2
    assert read(upstream) == ["The search failed: no search service has answered as it should. Try again later, or "
                              "answer without it and say so."]
    if kind["kind"] != "cut":  # libcurl itself asks again when a connection that it has kept is closed
        assert len(asked(upstream)) == (2 if kind.get("status") in (429, 500) else 1)


def test_a_service_that_is_busy_once_is_asked_again(client, searches, upstream):
    searches(rules=[fault(times=1, kind="status", status=429, retry_after=0)])
    assert respond(client).output[0].status == "completed" and len(asked(upstream)) == 2


def test_a_cancelled_response_gives_its_search_up_at_once(client, searches, upstream):
    searches(rules=[fault(kind="stall")])
    stream = respond(client, background=True, stream=True)
    made = next(iter(stream)).response.id
    while next(stream).type != f"{KIND}.searching":
        continue
    eventually(lambda: len(asked(upstream)) == 1)
    client.responses.cancel(made)
    eventually(lambda: [r["state"] for r in upstream.requests() if r["path"].startswith("/search")] == ["client_left"])
    ended = client.responses.retrieve(made)
    assert (ended.status, ended.output) == ("cancelled", [])


def test_a_repeated_search_is_answered_from_memory_within_a_response(client, searches, upstream):
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("web_search", queries=["tea"])]}})
    respond(client)
    assert len(asked(upstream)) == 1
    respond(client)
    assert len(asked(upstream)) == 2


def test_no_project_reads_what_another_has_found(searching_server, client, searches, upstream):
    searches()
    mine = respond(client)
    stranger = client.with_options(api_key=searching_server.new_key("strangers"))
    respond(stranger)
    assert len(asked(upstream)) == 2
    with pytest.raises(Exception, match="not found"):
        stranger.responses.retrieve(mine.id)


@pytest.fixture
def own_server(binary, scratch, upstream_process, recorder, database, upstream, discard):
    """One that may be killed."""
    directory = scratch / "killed"
    directory.mkdir(mode=0o755, exist_ok=True)
    config = directory / "runnel.yaml"
    url = upstream_process.url
    config.write_text(f"upstreams: [{{name: model, url: '{url}', models: ['*'], api_key: sk-model}}]\n"
                      f"web_search: [{{provider: searxng, url: '{url.removesuffix('/v1')}', timeout: '20'}}]\n")
    server = Server(binary, directory, None, recorder, config=config, database_url=database.new()).start()
    yield server
    if server.process:
        server.stop()
    discard(server)


def test_a_search_that_a_crash_has_cut_is_shown_once(own_server, searches, upstream):
    searches(rules=[fault(times=1, kind="stall")])
    client = own_server.sdk()
    stream = respond(client, background=True, stream=True)
    made = next(iter(stream)).response.id
    while next(stream).type != f"{KIND}.searching":
        continue
    eventually(lambda: len(asked(upstream)) == 1)
    own_server.kill()
    own_server.start()
    client = own_server.sdk()
    ended = eventually(lambda: client.responses.retrieve(made), lambda r: r.status not in ("queued", "in_progress"), 60)
    assert ended.status == "completed", ended.error
    assert [(item.type, item.status) for item in ended.output] == [("web_search_call", "completed"), ("message", "completed")]
    assert ended.output[0].to_dict()["action"]["queries"] == ["tea"] and len(asked(upstream)) == 2
    with client.responses.stream(response_id=made) as followed:
        events = list(followed)
    done = [e.item for e in events if e.type == "response.output_item.done"]
    assert [(item.type, item.status) for item in done] == [  # what was sent before the crash is closed
        ("web_search_call", "failed"), ("web_search_call", "completed"), ("message", "completed")]
    assert [item.id for item in done[1:]] == [item.id for item in ended.output]


# ---- Assistants ----

@pytest.fixture
def lenient(server):
    """The SDK's assistants know three types of tools."""
    return server.sdk(strict=False)


class Handler(AssistantEventHandler):
    def __init__(self):
        super().__init__()
        self.outputs, self.texts = [], []

    def on_tool_call_done(self, tool_call):
        self.outputs.append((tool_call.type, tool_call.function.name, tool_call.function.output))

    def on_text_done(self, text):
        self.texts.append(text)


@pytest.mark.parametrize("name", ["web_search", "web_search_preview"])
def test_a_runs_step_shows_a_function_and_the_message_keeps_its_links(lenient, searches, upstream, name):
    client = lenient
    searches(text=TEXT)
    assistant = client.beta.assistants.create(model="demo", tools=[{"type": name, "search_context_size": "low"}])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Tea?"}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "completed", run.last_error
    text = client.beta.threads.messages.list(thread.id).data[0].content[0].text
    assert (text.value, text.annotations) == (TEXT, [])
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    (tool_call,) = steps[-1].step_details.tool_calls
    assert (tool_call.type, tool_call.function.name) == ("function", "web_search")
    assert json.loads(tool_call.function.arguments) == {"queries": ["tea"]}
    assert tool_call.function.output == read(upstream)[0] and f"[2] tea, page 2 — {TWO}" in tool_call.function.output
    assert tool_call.to_dict()["runnel"] == {"action": {
        "type": "search", "query": "tea", "queries": ["tea"],
        "sources": [{"type": "url", "url": url} for url in (ONE, TWO, THREE)]}}
    searches(text="Again.")
    client.beta.threads.messages.create(thread.id, role="user", content="And?")
    client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert len([text for text in read(upstream) if text.startswith("3 results.")]) == 2


def test_an_event_handler_sees_the_search(lenient, searches):
    client = lenient
    searches(text=TEXT)
    assistant = client.beta.assistants.create(model="demo", tools=[TOOL])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Tea?"}])
    handler = Handler()
    with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id, event_handler=handler) as stream:
        stream.until_done()
    assert {(kind, name) for kind, name, _ in handler.outputs} == {("function", "web_search")}
    assert handler.outputs[-1][2].startswith("3 results.")
    assert [text.value for text in handler.texts] == [TEXT]


def test_the_model_of_a_run_reads_that_its_search_failed(lenient, searches, upstream):
    client = lenient
    searches(rules=[fault(kind="garbage")])
    assistant = client.beta.assistants.create(model="demo", tools=[TOOL])
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "Tea?"}]})
    assert run.status == "completed" and read(upstream)[0].startswith("The search failed")


# ---- The group web ----

GROUP = {"type": "mcp", "server_label": "web", "server_url": "builtin:web"}
SEARCHES = ["BingSearch", "GoogleSearch", "TavilySearch", "BochaSearch"]


@pytest.mark.feature("F51")
@pytest.mark.parametrize("name", SEARCHES)
def test_the_searches_of_the_group_use_the_same_services(client, upstream, name):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Found."}},
                    {"answer": {"tool_calls": [call(name, query="tea")]}})
    response = respond(client, tools=[{**GROUP, "allowed_tools": [name]}])
    (item,) = [item for item in response.output if item.type == "mcp_call"]
    assert item.name == name and f"[2] tea, page 2 — {TWO}\nWhat page 2 says about tea." in item.output
    assert [one["q"] for one in asked(upstream)] == ["tea"]


def test_a_search_of_the_group_that_fails_has_a_code(client, upstream):
    upstream.script(fault(kind="garbage"), {"match": {"tool_results": True}, "answer": {"text": "Hm."}},
                    {"answer": {"tool_calls": [call("GoogleSearch", query="tea")]}})
    response = respond(client, tools=[GROUP])
    (item,) = [item for item in response.output if item.type == "mcp_call"]
    assert item.status == "failed" and json.loads(read(upstream)[0])["code"] == "API_ERROR"


def test_a_search_of_the_group_needs_an_approval_by_default(own_server, upstream):
    upstream.answer(tool_calls=[call("BingSearch", query="tea")])
    response = respond(own_server.sdk(), tools=[GROUP])
    assert response.output[-1].type == "mcp_approval_request" and asked(upstream) == []


def test_without_a_service_the_group_has_no_searches(start_server, upstream):
    upstream.answer(text="Hi.")
    respond(start_server().sdk(), tools=[GROUP])
    names = [tool["function"]["name"] for tool in upstream.chats()[-1]["tools"]]
    assert "FetchWebPage" in names and not set(SEARCHES) & set(names)


def test_a_number_means_one_page_in_all_searches_of_a_response(client, upstream):
    """Searches of one turn run side by side, and any of them may end first."""
    def finds(word, *pages):
        return {"match": {"path": "/search*", "user": word}, "answer": {"fault": {
            "kind": "status", "status": 200, "body": {"results": [
                {"url": f"https://{page}.invalid/", "title": page, "content": ""} for page in pages]}}}}
    upstream.script(
        finds("tea", "a", "b"), finds("rain", "b", "c"),
        {"match": {"tool_results": 3}, "answer": {"text": "So."}},
        {"match": {"tool_results": 2}, "answer": {"tool_calls": [call("open_page", 3, result=3)]}},
        {"answer": {"tool_calls": [call("web_search", 1, queries=["tea"]), call("web_search", 2, queries=["rain"])]}})
    response = respond(client)
    texts = [m["content"] for m in upstream.chats()[1]["messages"] if m["role"] == "tool"]
    shown = {(int(number), page) for text in texts for number, page in re.findall(r"\[(\d)\] (\w)", text)}
    assert {number for number, _ in shown} == {1, 2, 3} and len(shown) == 3  # b has one number
    (third,) = [page for number, page in shown if number == 3]
    opened = response.output[2].to_dict()
    assert opened["action"] == {"type": "open_page", "url": f"https://{third}.invalid/"}
