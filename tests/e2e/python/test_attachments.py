"""Files that messages attach for file_search: they go into the thread's own vector store, and runs find them there."""

import concurrent.futures

from harness.server import eventually
from harness.tools import call

BATTERY = "# Safety\n\nThe battery warranty lasts two years from the day of purchase.\n"
KITCHEN = "# Kitchen\n\nBoil the rice for twelve minutes in salted water.\n"


def upload(client, text):
    return client.files.create(file=("a.md", text.encode()), purpose="assistants").id


def searches(upstream, query):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two years【1:0†source】."}},
                    {"answer": {"tool_calls": [call("file_search", queries=[query])]}})


def all_stores(http):
    return {store["id"] for store in http.get("/v1/vector_stores?limit=100").json()["data"]}


def resources(**search):
    return {"tool_resources": {"file_search": search}}


def attaching(*files, tool="file_search"):
    return {"role": "user", "content": "How long?",
            "attachments": [{"file_id": file, "tools": [{"type": tool}]} for file in files]}


def store_of(http, thread):
    named = http.get(f"/v1/threads/{thread}").json()["tool_resources"].get("file_search") or {}
    return named.get("vector_store_ids") or []


def attachers(http):
    """Every request that attaches files: it makes a thread, and gives its id and the answer."""
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    run = {"assistant_id": assistant}

    def new_thread(message):
        made = http.post("/v1/threads", json={"messages": [message]})
        return made.json()["id"], made

    def message_in(message):
        thread = http.post("/v1/threads").json()["id"]
        return thread, http.post(f"/v1/threads/{thread}/messages", json=message)

    def run_in(message):
        thread = http.post("/v1/threads").json()["id"]
        return thread, http.post(f"/v1/threads/{thread}/runs", json={**run, "additional_messages": [message]})

    def thread_and_run(message):
        made = http.post("/v1/threads/runs", json={**run, "thread": {"messages": [message]}})
        return made.json()["thread_id"], made

    return [new_thread, message_in, run_in, thread_and_run]


def test_an_attachment_goes_into_a_store_of_the_thread(client, http):
    battery, kitchen = upload(client, BATTERY), upload(client, KITCHEN)
    for attach in attachers(http):
        before = all_stores(http)
        thread, answer = attach(attaching(battery, battery))
        assert answer.status_code == 200, answer.text
        (store,) = store_of(http, thread)
        assert all_stores(http) - before == {store}, attach
        assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 1)
        made = client.vector_stores.retrieve(store)
        assert (made.name, made.expires_after.days, made.file_counts.total) == ("", 7, 1)
        eventually(lambda: not [run for run in http.get(f"/v1/threads/{thread}/runs").json()["data"]
                                if run["status"] in ("queued", "in_progress")])
        assert http.post(f"/v1/threads/{thread}/messages", json=attaching(kitchen)).status_code == 200
        assert store_of(http, thread) == [store] and all_stores(http) - before == {store}
        assert {file.id for file in client.vector_stores.files.list(store)} == {battery, kitchen}


def test_a_run_searches_what_its_messages_attach(client, http, upstream):
    battery = upload(client, BATTERY)
    waiting = client.vector_stores.create(file_ids=[battery]).id
    assert eventually(lambda: client.vector_stores.retrieve(waiting).file_counts.completed == 1)
    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "file_search"}]).id
    thread = http.post("/v1/threads").json()["id"]
    searches(upstream, "battery warranty")
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread, assistant_id=assistant, additional_messages=[attaching(battery)], poll_interval_ms=20)
    step = client.beta.threads.runs.steps.list(run.id, thread_id=thread, order="asc").data[0]
    (result,) = step.step_details.tool_calls[0].file_search.results
    assert result.file_id == battery


def test_files_of_attachments_join_the_store_of_the_resources(client, http):
    battery, kitchen = upload(client, BATTERY), upload(client, KITCHEN)
    store = client.vector_stores.create().id
    named = http.post("/v1/threads", json={"messages": [attaching(battery)], **resources(vector_store_ids=[store])}).json()["id"]
    assert store_of(http, named) == [store]
    assert [file.id for file in client.vector_stores.files.list(store)] == [battery]
    made = http.post("/v1/threads", json={"messages": [attaching(battery)], **resources(vector_stores=[{"file_ids": [kitchen]}])}).json()
    (new,) = store_of(http, made["id"])
    assert {file.id for file in client.vector_stores.files.list(new)} == {battery, kitchen}


def test_attachments_for_other_tools_make_no_store(client, http):
    battery, before = upload(client, BATTERY), all_stores(http)
    for attach in attachers(http):
        for message in (attaching(battery, tool="code_interpreter"),
                        {"role": "user", "content": "a", "attachments": [{"file_id": battery}]}):
            thread, answer = attach(message)
            assert answer.status_code == 200 and store_of(http, thread) == []
    assert all_stores(http) == before


def test_two_at_once_make_one_store(client, http):
    uploaded = [upload(client, f"File {n}.") for n in range(8)]
    before = all_stores(http)
    thread = http.post("/v1/threads").json()["id"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda file: http.post(f"/v1/threads/{thread}/messages", json=attaching(file)), uploaded))
    assert {answer.status_code for answer in answers} == {200}
    (store,) = store_of(http, thread)
    assert all_stores(http) - before == {store}
    assert {file.id for file in client.vector_stores.files.list(store)} == set(uploaded)


def test_a_repeat_attaches_nothing_twice(client, http):
    battery, before = upload(client, BATTERY), all_stores(http)
    thread = http.post("/v1/threads").json()["id"]
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    run = {"assistant_id": assistant, "additional_messages": [attaching(battery)]}
    for path, body in ((f"/v1/threads/{thread}/messages", attaching(battery)), (f"/v1/threads/{thread}/runs", run)):
        (first, again) = (http.post(path, json=body, headers={"Idempotency-Key": path}).json() for _ in range(2))
        assert first["id"] == again["id"]
        (store,) = store_of(http, thread)
        assert all_stores(http) - before == {store}
        client.vector_stores.files.delete(battery, vector_store_id=store)
        assert http.post(path, json=body, headers={"Idempotency-Key": path}).json()["id"] == first["id"]
        assert client.vector_stores.files.list(store).data == []


def test_a_refused_message_attaches_nothing(client, http, upstream):
    battery, before = upload(client, BATTERY), all_stores(http)
    function = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    assistant = client.beta.assistants.create(model="demo", tools=[function]).id
    upstream.script({"answer": {"tool_calls": [call("f")]}})
    thread = http.post("/v1/threads").json()["id"]
    run = client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant, poll_interval_ms=20)
    assert run.status == "requires_action"
    for path, body in ((f"/v1/threads/{thread}/messages", attaching(battery)),
                       (f"/v1/threads/{thread}/runs",
                        {"assistant_id": assistant, "additional_messages": [attaching(battery)]})):
        assert http.post(path, json=body).status_code in (400, 409)
    assert store_of(http, thread) == [] and all_stores(http) == before


def test_a_store_that_is_gone_is_replaced(client, http):
    battery = upload(client, BATTERY)
    for attach in attachers(http)[1:3]:
        thread, _ = attach(attaching(battery))
        (gone,) = store_of(http, thread)
        client.vector_stores.delete(gone)
        eventually(lambda: not [run for run in http.get(f"/v1/threads/{thread}/runs").json()["data"]
                                if run["status"] in ("queued", "in_progress")])
        assert http.post(f"/v1/threads/{thread}/messages", json=attaching(battery)).status_code == 200
        (new,) = store_of(http, thread)
        assert new != gone and [file.id for file in client.vector_stores.files.list(new)] == [battery]


def test_helpers_of_the_sdk(client, upstream):
    """A file by each way, and a run that finds all of them."""
    message = {"role": "user", "content": "How long?",
               "attachments": [{"file_id": upload(client, BATTERY), "tools": [{"type": "file_search"}]}]}
    store = client.vector_stores.create().id
    kitchen = client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("k.md", KITCHEN.encode()))
    assert kitchen.status == "completed"
    assistant = client.beta.assistants.create(
        model="demo", tools=[{"type": "file_search"}],
        tool_resources={"file_search": {"vector_store_ids": [store]}}).id
    searches(upstream, "battery warranty rice")
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant, thread={"messages": [message]},
                                                  poll_interval_ms=20)
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id, order="asc").data
    found = {result.file_id for result in steps[0].step_details.tool_calls[0].file_search.results}
    assert run.status == "completed" and found == {message["attachments"][0]["file_id"], kitchen.id}
    (answer,) = [part.text for part in client.beta.threads.messages.list(run.thread_id).data[0].content]
    (citation,) = answer.annotations
    assert citation.text in answer.value and citation.file_citation.file_id in found
