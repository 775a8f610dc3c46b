"""More of the nearest peer's faults as promises of this server: those that need a server of their own, two
projects, or many clients. PEER.md has the whole list."""

import concurrent.futures
import http.server
import json
import pathlib
import re
import threading
import time

import pytest

from harness.process import free_port
from harness.recorder import parse_events
from harness.refusals import PATHS
from harness.server import eventually
from harness.tools import WEATHER, WEATHER_RULES

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOREVER = 3600000


def user(text):
    return {"role": "user", "content": text}


def started(http, **body):
    """A run of a new thread."""
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [WEATHER]}).json()["id"]
    made = http.post("/v1/threads/runs", json={
        "assistant_id": assistant, "thread": {"messages": [user("x")]}, **body})
    assert made.status_code == 200, made.text
    return made


# ---- A: hangs, lost work, stuck states ----

@pytest.mark.slow
def test_bella_A2_an_expired_run_ends_its_stream(start_server, upstream):
    http = start_server(run_expiry=1).http()
    upstream.answer(text="one two", piece_delay_ms=FOREVER)
    events = parse_events(started(http, stream=True).text)
    assert [name for name, _ in events][-4:] == [
        "thread.message.incomplete", "thread.run.step.expired", "thread.run.expired", "done"]
    run = json.loads(events[-2][1])
    found = http.get(f"/v1/threads/{run['thread_id']}/runs/{run['id']}").json()
    assert found == run and found["status"] == "expired"


def test_bella_A12_an_unreachable_mcp_server_fails_the_run_at_once(http):
    tools = [{"type": "mcp", "server_label": "away", "server_url": "http://127.0.0.1:1/mcp"}]
    events = parse_events(started(http, stream=True, tools=tools).text)
    assert [name for name, _ in events][-2:] == ["thread.run.failed", "done"]
    assert json.loads(events[-2][1])["last_error"]["message"]
    answer = http.post("/v1/responses", json={"model": "demo", "input": "x", "tools": tools})
    (listed,) = [item for item in answer.json()["output"] if item["type"] == "mcp_list_tools"]
    assert answer.status_code == 200 and listed["error"]


@pytest.mark.slow
def test_bella_A16_times_do_not_depend_on_the_time_zone(start_server, upstream, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    http = start_server(run_expiry=60).http()
    run = started(http).json()
    assert abs(run["created_at"] - time.time()) < 30
    assert run["expires_at"] == run["created_at"] + 60
    path = f"/v1/threads/{run['thread_id']}/runs/{run['id']}"
    ended = eventually(lambda: http.get(path).json(), lambda r: r["completed_at"])
    assert abs(ended["completed_at"] - time.time()) < 30
    assert len(upstream.chats()) == 1


def test_bella_A18_of_many_runs_created_at_once_one_begins(server, client, upstream):
    upstream.script(*WEATHER_RULES)
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[user("x")])
    path = f"/v1/threads/{thread.id}/runs"
    clients = [server.http() for _ in range(20)]

    def begin(http):
        return http.post(path, json={"assistant_id": assistant.id, "additional_messages": [
            user("me")]})

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(begin, clients))
    (won,) = [answer.json()["id"] for answer in answers if answer.status_code == 200]
    for answer in answers:
        if answer.status_code != 200:
            assert answer.status_code == 400
            assert answer.json()["error"]["message"] == (
                f"Thread {thread.id} already has an active run {won}.")
    assert [run.id for run in client.beta.threads.runs.list(thread.id)] == [won]
    assert len(client.beta.threads.messages.list(thread.id).data) == 2
    client.beta.threads.runs.cancel(won, thread_id=thread.id)


# ---- B: wrong results ----

def test_bella_B13_what_an_assistant_was_given_reaches_the_model(client, upstream):
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 80}},
              "required": ["a"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    made = client.beta.assistants.create(model="demo", tools=[WEATHER], response_format=form,
                                         temperature=0.5, reasoning_effort="low")
    kept = client.beta.assistants.retrieve(made.id).model_dump(by_alias=True)
    assert kept["response_format"]["json_schema"]["schema"] == schema
    run = client.beta.threads.create_and_run_poll(
        assistant_id=made.id, thread={"messages": [user("x")]}, parallel_tool_calls=False,
        top_p=0.9, max_completion_tokens=300, poll_interval_ms=20)
    assert run.status == "completed" and run.response_format.type == "json_schema"
    (chat,) = upstream.chats()
    assert chat["response_format"] == form
    assert (chat["temperature"], chat["top_p"], chat["reasoning_effort"]) == (0.5, 0.9, "low")
    assert chat["parallel_tool_calls"] is False and chat["max_completion_tokens"] == 300


def test_bella_B15_a_run_changes_no_message_of_other_runs(client, upstream):
    threads = client.beta.threads
    assistant = client.beta.assistants.create(model="demo")
    thread = threads.create(messages=[{"role": "user", "metadata": {"a": "1"}, "content": [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}])
    before = threads.messages.list(thread.id).data
    for answer in ({"fault": {"kind": "cut", "after": 1}, "text": "a b"}, {"text": "fine"}):
        upstream.answer(**answer)
        threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                     poll_interval_ms=20)
    after = threads.messages.list(thread.id, order="asc").data
    assert after[:1] == before and [part.type for part in after[0].content] == ["text", "image_url"]
    assert [message.status for message in after[1:]] == ["incomplete", "completed"]


# ---- C: security ----

@pytest.fixture
def stranger(server, stranger_key):
    http = server.http()
    http.headers["Authorization"] = f"Bearer {stranger_key}"
    return http


@pytest.fixture
def owned(http):
    """One object of each kind, of the project that the tests work in."""
    run = started(http, instructions="Be brief.").json()
    base = f"/v1/threads/{run['thread_id']}"
    eventually(lambda: http.get(f"{base}/runs/{run['id']}").json()["status"],
               lambda status: status == "completed")
    response = http.post("/v1/responses", json={"model": "demo", "input": "x"}).json()
    conversation = http.post("/v1/conversations", json={"items": [user("x")]}).json()["id"]
    items = http.get(f"/v1/conversations/{conversation}/items").json()["data"]
    return {"assistant": run["assistant_id"], "thread": run["thread_id"], "run": run["id"],
            "message": http.get(f"{base}/messages").json()["data"][0]["id"],
            "step": http.get(f"{base}/runs/{run['id']}/steps").json()["data"][0]["id"],
            "response": response["id"], "conversation": conversation, "item": items[0]["id"]}


OTHER_PATHS = [
    ("GET", "/responses/{response}", None), ("DELETE", "/responses/{response}", None),
    ("POST", "/responses/{response}/cancel", None), ("GET", "/responses/{response}/input_items", None),
    ("GET", "/conversations/{conversation}", None), ("DELETE", "/conversations/{conversation}", None),
    ("POST", "/conversations/{conversation}", {"metadata": {}}),
    ("GET", "/conversations/{conversation}/items", None),
    ("POST", "/conversations/{conversation}/items", {"items": [user("x")]}),
    ("GET", "/conversations/{conversation}/items/{item}", None),
    ("DELETE", "/conversations/{conversation}/items/{item}", None),
]
NAMING_OTHERS = [
    ("/responses", {"model": "demo", "input": "x", "previous_response_id": "{response}"}),
    ("/responses", {"model": "demo", "input": "x", "conversation": "{conversation}"}),
    ("/responses", {"model": "demo", "input": [{"type": "item_reference", "id": "{item}"}]}),
    ("/threads/runs", {"assistant_id": "{assistant}"}),
]


def everything(http, owned):
    """What the owner sees of it."""
    texts = [http.get("/v1" + path.format(**owned)).text for method, path, _ in PATHS + OTHER_PATHS
             if method == "GET" and "/events" not in path]
    return texts + [http.get("/v1/assistants", params={"limit": 100}).text]


def test_bella_C1_another_project_finds_nothing(http, stranger, owned, upstream):
    before = everything(http, owned)
    upstream.forget()
    for method, path, body in PATHS + OTHER_PATHS:
        answer = stranger.request(method, "/v1" + path.format(**owned), json=body)
        assert answer.status_code == 404, f"{method} {path}: {answer.text}"
    for path, body in NAMING_OTHERS:
        named = json.loads(re.sub(r'"\{(\w+)\}"', lambda m: f'"{owned[m[1]]}"', json.dumps(body)))
        answer = stranger.post(f"/v1{path}", json=named)
        assert answer.status_code in (400, 404), f"{named}: {answer.text}"
    seen = stranger.get("/v1/assistants", params={"limit": 100}).json()["data"]
    assert owned["assistant"] not in [one["id"] for one in seen]
    assert everything(http, owned) == before
    assert upstream.requests() == []


def test_bella_C2_ids_cannot_be_guessed(http):
    ids = [http.post("/v1/threads").json()["id"] for _ in range(50)]
    assert len(set(ids)) == 50
    tails = [id[-12:] for id in ids]
    assert len(set(tails)) == 50
    for one, other in zip(tails, tails[1:]):
        assert sum(a == b for a, b in zip(one, other)) < 8


def test_bella_C3_headers_cannot_choose_another_identity(http, stranger, owned):
    """The project is the key's, whatever else the request claims."""
    me = {"ucid": "default", "user": "default", "OpenAI-Project": "default",
          "OpenAI-Organization": "default", "X-Forwarded-User": "default"}
    answer = stranger.get(f"/v1/threads/{owned['thread']}", headers=me)
    assert answer.status_code == 404
    made = stranger.post("/v1/responses", headers=me, json={"model": "demo", "input": "x",
                                                           "user": "default"}).json()["id"]
    assert http.get(f"/v1/responses/{made}").status_code == 404
    assert stranger.get(f"/v1/responses/{made}").status_code == 200


GROUP = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}


@pytest.mark.feature("F38")
@pytest.mark.parametrize("approval", [
    "allways", {}, ["test_slow"], True, {"always": {"tool_names": ["test_slwo"]}},
    {"never": {"tools": ["test_fail"]}},
    {"never": {"tool_names": ["test_slow"]}, "always": {"tool_names": ["test_slow"]}}], ids=str)
def test_bella_C4_an_unknown_value_of_require_approval_is_refused(http, upstream, approval):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "x", "tools": [
        {**GROUP, "require_approval": approval}]})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"].startswith("tools[0].require_approval")
    assert upstream.requests() == []


@pytest.mark.parametrize("allowed", [["test_slow"], {"tool_names": ["test_slow"]}], ids=str)
def test_bella_C5_only_allowed_tools_are_offered(client, upstream, allowed):
    client.responses.create(model="demo", input="x", tools=[
        {**GROUP, "require_approval": "never", "allowed_tools": allowed}])
    assert [t["function"]["name"] for t in upstream.chats()[0]["tools"]] == [
        "test_slow", "ReadVar", "ListVars"]


def test_bella_C6_secrets_of_tools_are_not_shown_again(http):
    secret = "Bearer do-not-show"
    tool = {**GROUP, "require_approval": "never", "authorization": secret,
            "headers": {"X-Key": secret}}
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [tool]})
    seen = [assistant, http.get(f"/v1/assistants/{assistant.json()['id']}"),
            http.get("/v1/assistants")]
    seen.append(http.post("/v1/threads/runs", json={"assistant_id": assistant.json()["id"],
                                                    "stream": True}))
    run = json.loads(parse_events(seen[-1].text)[-2][1])
    path = f"/v1/threads/{run['thread_id']}/runs"
    seen += [http.get(path), http.get(f"{path}/{run['id']}"), http.get(f"{path}/{run['id']}/events")]
    for stream in (False, True):
        seen.append(http.post("/v1/responses", json={"model": "demo", "input": "x",
                                                     "tools": [tool], "stream": stream}))
    made = seen[-2].json()
    seen.append(http.get(f"/v1/responses/{made['id']}"))
    for answer in seen:
        assert answer.status_code == 200, answer.text
        assert "do-not-show" not in answer.text
    assert made["tools"][0]["server_label"] == run["tools"][0]["server_label"] == "test"


def test_bella_C7_urls_in_messages_are_not_fetched(http, upstream):
    """Pictures go to the model as addresses; it is for the model's server to fetch them."""
    here = f"{upstream.url.removesuffix('/v1')}/secret.png"
    run = started(http, stream=True, thread={"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": here}}]}]})
    assert parse_events(run.text)[-1][0] == "done"
    assert [request["path"] for request in upstream.requests()] == ["/v1/chat/completions"]


# ---- D: slow, heavy ----

@pytest.mark.slow
def test_bella_D1_six_hundred_runs_at_once_need_no_more_threads(start_server, upstream):
    server = start_server()
    http = server.http()

    def threads():
        return int(re.search(r"Threads:\s+(\d+)", pathlib.Path(
            f"/proc/{server.process.pid}/status").read_text())[1])

    started(http, stream=True)
    before = threads()
    upstream.answer(text="one two", piece_delay_ms=FOREVER)
    runs = [started(http).json() for _ in range(600)]
    eventually(lambda: len(upstream.requests()), lambda count: count >= 500)
    assert threads() <= before
    paths = [f"/v1/threads/{run['thread_id']}/runs/{run['id']}" for run in runs]
    for path in paths:
        assert http.post(f"{path}/cancel").status_code == 200
    for path in paths:
        eventually(lambda: http.get(path).json()["status"], lambda status: status == "cancelled")


class Model(http.server.BaseHTTPRequestHandler):
    """Answers, and counts who has connected."""
    protocol_version = "HTTP/1.1"
    connected = 0

    def setup(self):
        Model.connected += 1
        super().setup()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "demo",
                             "choices": [{"index": 0, "finish_reason": "stop", "message": {
                                 "role": "assistant", "content": "Hi."}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.mark.slow
def test_bella_D2_a_connection_to_the_model_serves_many_turns(start_server):
    model = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Model)
    thread = threading.Thread(target=model.serve_forever)
    thread.start()
    try:
        server = start_server(upstream_url=f"http://127.0.0.1:{model.server_port}/v1", run_loops=1)
        client = server.sdk()
        for _ in range(30):
            assert client.responses.create(model="demo", input="x").output_text == "Hi."
        server.stop()
    finally:
        model.shutdown()
        thread.join()
        model.server_close()
    assert 1 <= Model.connected <= 3


@pytest.mark.slow
def test_bella_D4_a_stored_response_and_a_page_cost_few_transactions(start_fault_server, database,
                                                                     upstream):
    server = start_fault_server(lease_ttl=60)
    api, url = server.api(), server.settings["database_url"]

    def transactions():
        return int(database.ask("SELECT xact_commit FROM pg_stat_database"
                                " WHERE datname = current_database()", url=url)[0][0])

    def cost(work, times):
        """Counted are commits, which every connection reports a little later."""
        before = transactions()
        for _ in range(times):
            assert work().status_code == 200
        server.stop()
        after = transactions()
        server.start()
        return (after - before) / times

    def respond():
        return server.api().post("/responses", json={"model": "demo", "input": "x"})

    for _ in range(100):
        assert api.post("/assistants", json={"model": "demo", "tools": [WEATHER]}).status_code == 200
    assert cost(respond, 100) < 5
    assert cost(lambda: server.api().get("/assistants?limit=100"), 100) < 3


@pytest.mark.slow
def test_bella_D5_a_run_reads_no_more_than_its_model_is_sent(start_fault_server, database, upstream):
    """Asked of the database: rows of items that a run in a long thread has fetched."""
    server = start_fault_server(lease_ttl=60)
    api, url = server.api(), server.settings["database_url"]
    assistant = api.post("/assistants", json={"model": "demo"}).json()["id"]
    thread = api.post("/threads", json={"messages": [user(str(n)) for n in range(5000)]}).json()["id"]
    for _ in range(9):  # a thread is never all there is
        assert api.post(f"/runnel/threads/{thread}/fork").status_code == 200
    database.ask("ANALYZE", url=url)

    def fetched():
        """Connections report what they have read when they end."""
        server.stop()
        rows = database.ask("SELECT coalesce(sum(idx_tup_fetch), 0) + coalesce(sum(seq_tup_read), 0)"
                            " FROM pg_stat_user_tables WHERE relname = 'items'", url=url)
        server.start()
        return int(rows[0][0])

    before = fetched()
    for _ in range(5):
        answer = server.api().post(f"/threads/{thread}/runs", json={
            "assistant_id": assistant, "stream": True,
            "truncation_strategy": {"type": "last_messages", "last_messages": 10}})
        assert "thread.run.completed" in answer.text
    assert [len(chat["messages"]) for chat in upstream.chats()] == [10] * 5
    assert fetched() - before < 5 * 200


# ---- The list ----

def test_every_fault_of_the_peer_has_an_answer():
    """What PEER.md names is a test that exists."""
    rows = [line.split("|")[1:-1] for line in (ROOT / "tests/e2e/PEER.md").read_text().splitlines()
            if re.match(r"\| [A-D]\d", line)]
    assert [row[0].strip() for row in rows] == [
        f"{letter}{number}" for letter, last in (("A", 18), ("B", 23), ("C", 9), ("D", 10))
        for number in range(1, last + 1)]
    source = "".join(path.read_text() for pattern in ("e2e/python/*.py", "unit/**/*.c")
                     for path in (ROOT / "tests").glob(pattern))
    for number, _, answer in rows:
        named = re.findall(r"`(\w+)`", answer)
        assert named or answer.strip().startswith("no:"), number
        for name in named:
            assert re.search(rf"\b(def |TEST\(){name}\b", source), f"{number}: no test {name}"
