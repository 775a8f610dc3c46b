"""The tool file_search: from an uploaded file to an answer with its citations, on both faces."""

import json

import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import call

UNKNOWN = "vs_000000000000000000000000"
BATTERY = "# Safety\n\nThe battery warranty lasts two years from the day of purchase.\n"
KITCHEN = "# Kitchen\n\nBoil the rice for twelve minutes in salted water.\n"
CONTENT = "step_details.tool_calls[*].file_search.results[*].content"
RESULTS = {"include": ["file_search_call.results"]}


def add(client, store, text, name, **attributes):
    file = client.files.create(file=(name, text.encode()), purpose="assistants").id
    client.vector_stores.files.create(store, file_id=file, attributes=attributes or None)
    return file


@pytest.fixture
def files(client):
    """A store with two files: {"store", "battery", "kitchen"}."""
    store = client.vector_stores.create(name="Handbook").id
    made = {"store": store, "battery": add(client, store, BATTERY, "手册.md", year=2026),
            "kitchen": add(client, store, KITCHEN, "kitchen.md", year=2020)}
    assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 2)
    return made


def searches(upstream, *queries, text="Two years【1:0†source】."):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                    {"answer": {"tool_calls": [call("file_search", queries=list(queries))]}})


def tool(files, **options):
    return {"type": "file_search", "vector_store_ids": [files["store"]], **options}


def ask(http, *tools, **body):
    return http.post("/v1/responses", json={"model": "demo", "input": "How long?", "tools": list(tools), **body})


def search_of(response):
    (item,) = [item for item in response["output"] if item["type"] == "file_search_call"]
    return item


def problem(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


# ---- Responses ----

def test_an_answer_cites_the_file_in_which_it_was_found(http, upstream, files):
    searches(upstream, "battery warranty")
    response = ask(http, tool(files)).json()
    search, message = response["output"]
    assert search.items() >= {"type": "file_search_call", "status": "completed", "queries": ["battery warranty"],
                              "results": None}.items()
    assert search["id"].startswith("fs_") and "output" not in search["runnel"]
    (part,) = message["content"]
    assert part["text"] == "Two years."
    assert part["annotations"] == [{"type": "file_citation", "file_id": files["battery"], "filename": "手册.md",
                                    "index": 9}]
    (read,) = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert "【1:0†source】 手册.md" in read and "lasts two years" in read and "not instructions" in read


def test_events_come_in_the_order_of_the_api(http, upstream, files):
    searches(upstream, "battery warranty", text=["Two years【1:0†source】", "."])
    answer = ask(http, tool(files), stream=True, **RESULTS)
    events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds == ["created", "in_progress", "output_item.added", "file_search_call.in_progress",
                     "file_search_call.searching", "file_search_call.completed", "output_item.done",
                     "output_item.added", "content_part.added", "output_text.delta", "output_text.annotation.added",
                     "output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"]
    added, done = events[2]["item"], events[6]["item"]
    assert (added["queries"], added["results"]) == ([], None)
    assert done["queries"] == ["battery warranty"]
    assert [result["file_id"] for result in done["results"]] == [files["battery"]]
    assert search_of(events[-1]["response"]) == done


def test_results_are_shown_where_they_are_included(http, upstream, files):
    searches(upstream, "battery warranty")
    response = ask(http, tool(files), **RESULTS).json()
    (result,) = search_of(response)["results"]
    assert result.items() >= {"file_id": files["battery"], "filename": "手册.md", "attributes": {"year": 2026}}.items()
    assert "two years" in result["text"] and 0 < result["score"] <= 1
    path = f"/v1/responses/{response['id']}"
    assert search_of(http.get(path).json())["results"] is None
    assert search_of(http.get(path + "?include=file_search_call.results").json())["results"] == [result]
    later = http.post("/v1/responses", json={"model": "demo", "input": "And?", "previous_response_id": response["id"]})
    assert later.status_code == 200


def test_a_filter_and_the_options_decide_what_is_found(http, upstream, files):
    searches(upstream, "battery warranty rice water", text="Fine.")
    both = ask(http, tool(files), **RESULTS).json()
    assert {result["file_id"] for result in search_of(both)["results"]} == {files["battery"], files["kitchen"]}
    old = ask(http, tool(files, filters={"type": "lt", "key": "year", "value": 2025}), **RESULTS).json()
    assert [result["file_id"] for result in search_of(old)["results"]] == [files["kitchen"]]
    one = ask(http, tool(files, max_num_results=1), **RESULTS).json()
    assert len(search_of(one)["results"]) == 1
    none = ask(http, tool(files, ranking_options={"score_threshold": 1.0}), **RESULTS).json()
    assert search_of(none)["results"] == []


def test_the_entry_is_shown_with_all_of_its_keys(http, files):
    assert ask(http, tool(files)).json()["tools"] == [
        {"type": "file_search", "vector_store_ids": [files["store"]], "filters": None, "max_num_results": 20,
         "ranking_options": {"ranker": "auto", "score_threshold": 0.0}}]


def test_a_choice_of_the_tool_forces_it(http, upstream, files):
    searches(upstream, "battery")
    response = ask(http, tool(files), tool_choice={"type": "file_search"}).json()
    first, second = upstream.chats()
    assert first["tool_choice"] == {"type": "function", "function": {"name": "file_search"}}
    assert "tool_choice" not in second and search_of(response)["status"] == "completed"


def test_a_function_of_the_client_keeps_its_name(http, upstream, files):
    own = {"type": "function", "name": "file_search", "parameters": {"type": "object", "properties": {}}}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two【1:0】."}},
                    {"answer": {"tool_calls": [call("hosted__file_search", queries=["battery"])]}})
    for tools in ([own, tool(files)], [tool(files), own]):
        upstream.forget()
        response = ask(http, *tools).json()
        offered = {entry["function"]["name"] for entry in upstream.chats()[0]["tools"]}
        assert offered >= {"file_search", "hosted__file_search"}
        assert search_of(response)["status"] == "completed"
        assert response["output"][-1]["content"][0]["annotations"]


@pytest.mark.parametrize("change, code, param", [
    ({"vector_store_ids": None}, "invalid_type", "tools[0].vector_store_ids"),
    ({"vector_store_ids": []}, "empty_array", "tools[0].vector_store_ids"),
    ({"vector_store_ids": [7]}, "invalid_type", "tools[0].vector_store_ids[0]"),
    ({"vector_store_ids": [UNKNOWN] * 33}, "array_above_max_length", "tools[0].vector_store_ids"),
    ({"max_num_results": 0}, "integer_below_min_value", "tools[0].max_num_results"),
    ({"max_num_results": 51}, "integer_above_max_value", "tools[0].max_num_results"),
    ({"filters": {"type": "near", "key": "a", "value": 1}}, "invalid_value", "tools[0].filters.type"),
    ({"ranking_options": {"ranker": "best"}}, "invalid_value", "tools[0].ranking_options.ranker"),
    ({"ranking_options": {"score_threshold": 1.5}}, "decimal_above_max_value",
     "tools[0].ranking_options.score_threshold"),
    ({"ranking_options": {"hybrid_search": {"embedding_weight": 0, "text_weight": 0}}}, "invalid_value", None),
])
def test_a_wrong_entry_is_refused(http, upstream, files, change, code, param):
    status, its_code, its_param, _ = problem(ask(http, tool(files) | change))
    assert (status, its_code) == (400, code) and (param is None or its_param == param), its_param
    assert upstream.chats() == []


def test_a_search_without_stores_is_refused(http):
    assert problem(ask(http, {"type": "file_search"}))[:3] == (
        400, "missing_required_parameter", "tools[0].vector_store_ids")


def test_two_searches_in_a_request_are_refused(http, files):
    assert problem(ask(http, tool(files), tool(files)))[:3] == (400, "duplicate_tool", "tools[1]")


@pytest.mark.parametrize("more", [{}, {"background": True}, {"stream": True}])
def test_a_store_that_is_missing_is_not_found(http, upstream, files, more):
    entry = {"type": "file_search", "vector_store_ids": [files["store"], UNKNOWN]}
    assert problem(ask(http, entry, **more)) == (
        404, None, "tools[0].vector_store_ids[1]", f"Vector store with id '{UNKNOWN}' not found.")
    assert upstream.chats() == []


def test_a_store_of_another_project_is_not_found(stranger, http, files):
    theirs = stranger.vector_stores.create().id
    answer = ask(http, {"type": "file_search", "vector_store_ids": [theirs]})
    assert problem(answer)[3] == f"Vector store with id '{theirs}' not found."


def test_a_store_that_went_meanwhile_fails_the_call_and_not_the_response(client, http, upstream, files):
    entry = tool(files)
    searches(upstream, "battery", text="Done.")
    first = ask(http, entry).json()
    client.vector_stores.delete(files["store"])
    assert problem(ask(http, entry))[0] == 404
    assert http.get(f"/v1/responses/{first['id']}").status_code == 200


def test_a_search_in_the_input_is_read_again(http, upstream, files):
    searches(upstream, "battery warranty", text="Two years【1:0†source】.")
    first = ask(http, tool(files), **RESULTS).json()
    (read,) = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    upstream.script({"answer": {"text": "Again【1:0†source】."}})
    # With results, as SDK loops send back what they got.
    body = {"model": "demo", "store": False,
            "input": [{"role": "user", "content": "How long?"}, *first["output"], {"role": "user", "content": "Sure?"}]}
    again = http.post("/v1/responses", json=body).json()
    sent = upstream.chats()[-1]["messages"]
    assert [message["content"] for message in sent if message["role"] == "tool"] == [read]
    assert "Two years." in [message["content"] for message in sent if message["role"] == "assistant"]
    (part,) = again["output"][0]["content"]
    assert part["text"] == "Again." and part["annotations"][0]["file_id"] == files["battery"]
    # Without them nothing of the call is left for the model.
    upstream.forget()
    body["input"][1] = search_of(first) | {"results": None}
    assert http.post("/v1/responses", json=body).status_code == 200
    assert not [message for message in upstream.chats()[-1]["messages"]
                if message["role"] == "tool" or message.get("tool_calls")]


# ---- Assistants ----

def run_of(http, files, include=(), options=None, stream=False, text="Two years【1:0†source】."):
    entry = {"type": "file_search", **({"file_search": options} if options else {})}
    assistant = http.post("/v1/assistants", json={
        "model": "demo", "tools": [entry],
        "tool_resources": {"file_search": {"vector_store_ids": [files["store"]]}}}).json()["id"]
    query = "&".join(f"include[]={value}" for value in include)
    thread = http.post("/v1/threads", json={"messages": [{"role": "user", "content": "How long?"}]}).json()["id"]
    answer = http.post(f"/v1/threads/{thread}/runs?{query}", json={"assistant_id": assistant, "stream": True})
    return thread, [(name, json.loads(data)) for name, data in parse_events(answer.text) if data != "[DONE]"]


def test_a_run_searches_the_stores_of_its_assistant(http, upstream, files):
    searches(upstream, "battery warranty")
    thread, events = run_of(http, files)
    message = next(data for name, data in events if name == "thread.message.completed")
    (content,) = message["content"]
    assert content["text"] == {"value": "Two years【1:0†source】.", "annotations": [
        {"type": "file_citation", "text": "【1:0†source】", "start_index": 9, "end_index": 21,
         "file_citation": {"file_id": files["battery"]}}]}
    step = next(data for name, data in events if name == "thread.run.step.completed")
    (its_call,) = step["step_details"]["tool_calls"]
    (result,) = its_call["file_search"]["results"]
    assert its_call["type"] == "file_search"
    assert its_call["file_search"]["ranking_options"] == {"ranker": "default_2024_08_21", "score_threshold": 0.0}
    assert result.keys() == {"file_id", "file_name", "score"} and result["file_name"] == "手册.md"
    deltas = [data["delta"]["step_details"]["tool_calls"] for name, data in events if name == "thread.run.step.delta"]
    assert deltas == [[{"index": 0, "id": its_call["id"], "type": "file_search", "file_search": {}}]]


def test_a_step_has_the_text_if_it_is_included(http, upstream, files):
    searches(upstream, "battery warranty")
    thread, events = run_of(http, files, include=[CONTENT], options={
        "max_num_results": 3, "ranking_options": {"ranker": "auto", "score_threshold": 0.01}})
    step = next(data for name, data in events if name == "thread.run.step.completed")
    search = step["step_details"]["tool_calls"][0]["file_search"]
    assert search["ranking_options"]["score_threshold"] == 0.01
    assert "two years" in search["results"][0]["content"][0]["text"]
    path = f"/v1/threads/{thread}/runs/{step['run_id']}/steps/{step['id']}"
    assert "content" not in http.get(path).json()["step_details"]["tool_calls"][0]["file_search"]["results"][0]
    shown = http.get(f"{path}?include[]={CONTENT}").json()
    assert shown["step_details"]["tool_calls"][0]["file_search"] == search


def test_a_run_searches_the_stores_of_assistant_and_thread_together(client, http, upstream, files):
    other = client.vector_stores.create().id
    garden = add(client, other, "# Garden\n\nWater the battery of roses every evening.\n", "garden.md")
    assert eventually(lambda: client.vector_stores.retrieve(other).file_counts.completed == 1)
    searches(upstream, "battery", text="Done.")
    of = {key: {"file_search": {"vector_store_ids": [store]}}
          for key, store in (("assistant", files["store"]), ("thread", other))}
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [{"type": "file_search"}],
                                                  "tool_resources": of["assistant"]}).json()["id"]
    message = {"messages": [{"role": "user", "content": "Hi"}], "tool_resources": of["thread"]}
    thread = http.post("/v1/threads", json=message).json()["id"]
    runs = [client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant, poll_interval_ms=20),
            client.beta.threads.create_and_run_poll(assistant_id=assistant, thread=message, poll_interval_ms=20)]
    for run in runs:
        step = client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id, order="asc").data[0]
        (search,) = step.step_details.tool_calls
        assert {result.file_id for result in search.file_search.results} == {files["battery"], garden}


STORES = "tool_resources.file_search.vector_store_ids[0]"


def resources(*stores, **more):
    return {"tool_resources": {"file_search": {"vector_store_ids": list(stores), **more}}}


def requests_of_assistants(http):
    """Every request that may name resources: (path, a body for them, the path of the parameter)."""
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    thread = http.post("/v1/threads").json()["id"]
    run = {"assistant_id": assistant}
    return [("/v1/assistants", lambda given: {"model": "demo", **given}, STORES),
            (f"/v1/assistants/{assistant}", lambda given: given, STORES),
            ("/v1/threads", lambda given: given, STORES),
            (f"/v1/threads/{thread}", lambda given: given, STORES),
            (f"/v1/threads/{thread}/runs", lambda given: {**run, **given}, STORES),
            ("/v1/threads/runs", lambda given: {**run, **given}, STORES),
            ("/v1/threads/runs", lambda given: {**run, "thread": given}, "thread." + STORES)]


def all_assistants(http):
    return http.get("/v1/assistants?limit=100").json()["data"]


def test_stores_of_resources_must_exist(stranger, http, upstream):
    theirs = stranger.vector_stores.create().id
    requests = requests_of_assistants(http)
    before = all_assistants(http)
    for path, body, param in requests:
        for store in (UNKNOWN, theirs):
            assert problem(http.post(path, json=body(resources(store)))) == (
                404, None, param, f"Vector store with id '{store}' not found."), path
    assert all_assistants(http) == before and upstream.chats() == []


def test_stores_of_resources_must_not_have_expired(start_server, database):
    server = start_server()
    with server.http() as http:
        days = {"expires_after": {"anchor": "last_active_at", "days": 1}}
        store = http.post("/v1/vector_stores", json=days).json()["id"]
        database.ask("UPDATE vector_stores SET last_active_at = 1, expires_at = 2",
                     url=server.settings["database_url"])
        for path, body, param in requests_of_assistants(http):
            assert problem(http.post(path, json=body(resources(store)))) == (
                400, "vector_store_expired", param, f"The vector store {store} has expired."), path


def test_a_store_that_is_there_stands_in_the_resources(http, files):
    for path, body, _ in requests_of_assistants(http)[:4]:
        made = http.post(path, json=body(resources(files["store"]))).json()
        assert made["tool_resources"] == resources(files["store"])["tool_resources"]


# ---- Stores made with an assistant or a thread ----

CHUNKS = {"type": "static", "static": {"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 50}}


def upload(client, text, name="a.md"):
    return client.files.create(file=(name, text.encode()), purpose="assistants").id


def with_new_store(**helper):
    return {"tool_resources": {"file_search": {"vector_stores": [helper]}}}


def makers(http):
    """Every request that makes a store: (path, a body for the resources, the path of the parameter, the resources of an
    answer). Those of a run are its thread's."""
    def thread_of(answer):
        return http.get(f"/v1/threads/{answer['thread_id']}").json()["tool_resources"]
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    its = "tool_resources.file_search.vector_stores"
    return [("/v1/assistants", lambda given: {"model": "demo", **given}, its, lambda answer: answer["tool_resources"]),
            ("/v1/threads", lambda given: given, its, lambda answer: answer["tool_resources"]),
            ("/v1/threads/runs", lambda given: {"assistant_id": assistant, "thread": given}, "thread." + its, thread_of)]


def all_stores(http):
    return {store["id"] for store in http.get("/v1/vector_stores?limit=100").json()["data"]}


def test_a_store_is_made_with_an_assistant_or_a_thread(client, http):
    battery, kitchen = upload(client, BATTERY), upload(client, KITCHEN)
    for path, body, _, resources_of in makers(http):
        before = all_stores(http)
        answer = http.post(path, json=body(with_new_store(
            file_ids=[battery, kitchen, battery], chunking_strategy=CHUNKS, metadata={"a": "b"})))
        assert answer.status_code == 200, answer.text
        (made,) = all_stores(http) - before
        assert resources_of(answer.json()) == {"file_search": {"vector_store_ids": [made]}}, path
        assert eventually(lambda: client.vector_stores.retrieve(made).file_counts.completed == 2)
        store = client.vector_stores.retrieve(made)
        assert (store.name, store.metadata) == ("", {"a": "b"})
        days = store.expires_after and store.expires_after.days
        assert days == (None if path == "/v1/assistants" else 7)
        listed = client.vector_stores.files.list(made, order="asc").data
        assert [file.id for file in listed] == [battery, kitchen]
        assert listed[0].chunking_strategy.static.max_chunk_size_tokens == 200


def test_a_run_searches_the_store_made_with_its_thread(client, http, upstream):
    file = upload(client, BATTERY)
    thread = http.post("/v1/threads", json={"messages": [{"role": "user", "content": "How long?"}],
                                            **with_new_store(file_ids=[file])}).json()
    (store,) = thread["tool_resources"]["file_search"]["vector_store_ids"]
    assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 1)
    searches(upstream, "battery warranty")
    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "file_search"}]).id
    run = client.beta.threads.runs.create_and_poll(thread_id=thread["id"], assistant_id=assistant, poll_interval_ms=20)
    step = client.beta.threads.runs.steps.list(run.id, thread_id=thread["id"], order="asc").data[0]
    (result,) = step.step_details.tool_calls[0].file_search.results
    assert result.file_id == file


def test_a_repeat_makes_no_second_store(client, http):
    file = upload(client, BATTERY)
    for path, body, _, resources_of in makers(http)[1:]:
        before = all_stores(http)
        answers = [http.post(path, json=body(with_new_store(file_ids=[file])),
                             headers={"Idempotency-Key": f"store-{path}"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        (made,) = all_stores(http) - before
        assert [resources_of(answer.json()) for answer in answers] == [{"file_search": {"vector_store_ids": [made]}}] * 2


@pytest.mark.parametrize("helper, status, code, param", [
    ({"file_ids": ["file-unknown"]}, 404, None, "[0].file_ids[0]"),
    ({"file_ids": "file-a"}, 400, "invalid_type", "[0].file_ids"),
    ({"file_ids": [7]}, 400, "invalid_type", "[0].file_ids[0]"),
    ({"file_ids": ["file-a"] * 10001}, 400, "array_above_max_length", "[0].file_ids"),
    ({"chunking_strategy": {"type": "best"}}, 400, "invalid_value", "[0].chunking_strategy.type"),
    ({"metadata": {"a": 1}}, 400, "invalid_type", "[0].metadata.a"),
])
def test_a_wrong_new_store_makes_nothing(http, upstream, helper, status, code, param):
    requests = makers(http)
    before = all_stores(http), all_assistants(http)
    for path, body, its, _ in requests:
        found = problem(http.post(path, json=body(with_new_store(**helper))))
        assert found[:2] == (status, code) and (param is None or found[2] == its + param), found
    assert (all_stores(http), all_assistants(http)) == before and upstream.chats() == []


def test_the_first_file_that_is_missing_is_named(client, http):
    there = upload(client, BATTERY)
    for path, body, its, _ in makers(http):
        wrong = body(with_new_store(file_ids=[there, "file-a", "file-b"]))
        assert problem(http.post(path, json=wrong)) == (404, None, f"{its}[0].file_ids[1]", "No such File object: file-a")


def test_a_store_is_new_or_named(http, files):
    for path, body, param, _ in makers(http):
        both = body(resources(files["store"], vector_stores=[{}]))
        assert problem(http.post(path, json=both))[:3] == (400, "mutually_exclusive_parameters", param)
        two = body({"tool_resources": {"file_search": {"vector_stores": [{}, {}]}}})
        assert problem(http.post(path, json=two))[:3] == (400, "array_above_max_length", param)


def test_only_new_objects_make_a_store(http):
    assistant, its_thread = (path for path, _, _ in requests_of_assistants(http)[1:4:2])
    run = {"assistant_id": assistant.removeprefix("/v1/assistants/")}
    for path, body in ((assistant, {}), (its_thread, {}), (its_thread + "/runs", run), ("/v1/threads/runs", run)):
        assert problem(http.post(path, json={**body, **with_new_store()}))[:3] == (
            400, "unknown_parameter", "tool_resources.file_search.vector_stores"), path


def test_a_run_whose_store_has_expired_fails(start_server, database, upstream):
    server = start_server()
    client = server.sdk()
    week = {"anchor": "last_active_at", "days": 7}
    living, expired = client.vector_stores.create().id, client.vector_stores.create(expires_after=week).id
    in_it, in_living = ({"file_search": {"vector_store_ids": [store]}} for store in (expired, living))
    search = {"model": "demo", "tools": [{"type": "file_search"}]}
    having, plain, without = (client.beta.assistants.create(**more).id for more in (
        search | {"tool_resources": in_it}, search, {"model": "demo", "tool_resources": in_it}))
    its_thread, other = (client.beta.threads.create(tool_resources=given).id for given in (in_it, in_living))
    database.ask("UPDATE vector_stores SET last_active_at = 1, expires_at = 2 WHERE expires_days IS NOT NULL",
                 url=server.settings["database_url"])
    upstream.script({"answer": {"text": "Hi."}})
    upstream.forget()

    def run(assistant, thread, **more):
        return client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant, poll_interval_ms=20,
                                                        **more)

    for failed in (run(having, other), run(plain, its_thread)):
        assert failed.status == "failed", failed
        assert failed.last_error.code == "invalid_prompt"
        assert failed.last_error.message == f"The vector store {expired} has expired."
    assert upstream.chats() == []
    # Who does not search it is not disturbed, and so is a run of a store that is gone.
    assert run(without, its_thread).status == run(plain, other).status == "completed"
    assert run(having, other, tools=[]).status == "completed"
    client.vector_stores.delete(expired)
    assert run(having, other).status == "completed"
