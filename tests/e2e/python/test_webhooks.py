"""The channel "webhook" (F44): the operator's URL receives each approval request; the answer comes the
usual way."""

import http.server
import json
import queue
import subprocess
import threading

import openai
import pytest

from harness.patience import patience
from harness.process import clean_environment, free_port
from harness.server import eventually
from harness.tools import asks_for, call
from test_approvals import TEST, questions

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
APPROVALS = "/v1/runnel/approvals"
WEBHOOK = {"runnel": {"approval": {"channel": "webhook"}}}


class Receiver:
    """Notes each POST, and answers with the given statuses, then with 200."""

    def __init__(self):
        self.received = queue.Queue()
        self.statuses = []
        self.answers = threading.Event()  # until then, POSTs wait
        self.answers.set()
        self.lock = threading.Lock()
        self.at_once = self.most_at_once = 0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                with receiver.lock:
                    receiver.at_once += 1
                    receiver.most_at_once = max(receiver.most_at_once, receiver.at_once)
                receiver.received.put((self.path, dict(self.headers), body))
                receiver.answers.wait(timeout=patience(60))
                with receiver.lock:
                    receiver.at_once -= 1
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.port = free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self):
        return self.received.get(timeout=patience(30))

    def close(self):
        self.answers.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def configured(directory, receiver, open_it=True):
    path = directory / "runnel.yaml"
    path.write_text(
        (f"network: {{allow_internal_hosts: [\"127.0.0.1:{receiver.port}\"]}}\n" if open_it else "")
        + f"approval_webhooks:\n  - {{url: \"http://127.0.0.1:{receiver.port}/asked\", secret: {SECRET}}}\n")
    return path


@pytest.fixture
def webhook_server(start_server, receiver, tmp_path):
    return start_server(config=configured(tmp_path, receiver))


def read(sent):
    """The event, as the SDK lets it pass."""
    path, headers, body = sent
    openai.OpenAI(api_key="none").webhooks.verify_signature(
        payload=body, headers=headers, secret=SECRET)
    assert path == "/asked"
    event = json.loads(body)
    assert headers["webhook-id"] == event["id"]
    assert event["object"] == "event" and event["type"] == "runnel.approval.pending"
    return event


def begin(server, upstream, log, **body):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    answers = queue.Queue()
    ask = {"model": "demo", "input": "go", "tools": [TEST], **WEBHOOK, **body}
    threading.Thread(target=lambda: answers.put(
        server.http().post("/v1/responses", json=ask).json())).start()
    return answers


@pytest.mark.parametrize("approve", [True, False])
def test_the_webhook_receives_the_approval_request(webhook_server, receiver, upstream, log, approve):
    answers = begin(webhook_server, upstream, log)
    event = read(receiver.next())
    asked = event["data"]
    assert event["truncated"] is False
    assert asked["name"] == "test_count" and asked["kind"] == "execution"
    assert json.loads(asked["arguments"]) == {"path": log.name, "text": "counted"}
    http = webhook_server.http()
    shown = http.get(f"{APPROVALS}/{asked['id']}").json()
    assert shown["status"] == "pending" and shown["run_id"] == asked["run_id"]
    http.post(f"{APPROVALS}/{asked['id']}", json={"approve": approve})
    done = answers.get(timeout=patience(30))
    assert done["status"] == "completed"
    assert log.lines() == (["call_1"] if approve else [])
    kept = json.dumps(http.get(f"/v1/responses/{done['id']}").json())
    assert SECRET not in kept and "/asked" not in kept
    assert SECRET not in webhook_server.process.errors()
    assert receiver.received.empty()


def test_each_request_is_sent_once_even_when_the_response_suspends(webhook_server, receiver, upstream, log):
    answers = begin(webhook_server, upstream, log,
                    runnel={"approval": {"channel": "webhook", "hold_timeout_s": 1}})
    asked = read(receiver.next())["data"]
    done = answers.get(timeout=patience(30))
    assert [item["type"] for item in done["output"]][-1] == "mcp_approval_request"
    assert done["output"][-1]["id"] == asked["id"] and receiver.received.empty()


def test_the_answer_continues_a_run_of_a_thread(webhook_server, receiver, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    client = webhook_server.sdk(strict=False)
    assistant = client.beta.assistants.create(model="demo", tools=[TEST])
    run = client.beta.threads.create_and_run(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "go"}]},
        extra_body=WEBHOOK)
    asked = read(receiver.next())["data"]
    assert asked["run_id"] == run.id and asked["thread_id"] == run.thread_id
    webhook_server.http().post(f"{APPROVALS}/{asked['id']}", json={"approve": True})
    eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id).status,
               lambda status: status == "completed")
    assert log.lines() == ["call_1"]


def test_requests_of_background_responses_are_sent_as_well(webhook_server, receiver, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    client = webhook_server.sdk()
    made = client.responses.create(model="demo", input="go", tools=[TEST], background=True,
                                   extra_body=WEBHOOK)
    asked = read(receiver.next())["data"]
    done = eventually(lambda: client.responses.retrieve(made.id),
                      lambda response: response.status == "completed")
    assert [one.id for one in questions(done)] == [asked["id"]]


def test_a_refused_post_is_repeated(webhook_server, receiver, upstream, log):
    receiver.statuses = [500]
    answers = begin(webhook_server, upstream, log)
    first, second = read(receiver.next()), read(receiver.next())
    assert first == second
    webhook_server.http().post(f"{APPROVALS}/{first['data']['id']}", json={"approve": True})
    assert answers.get(timeout=patience(30))["status"] == "completed"


TEXT_LIMIT = 16 << 10  # bytes of a text in an event


def check_cut(cut, whole):
    assert whole.startswith(cut) and TEXT_LIMIT - 4 < len(cut.encode()) <= TEXT_LIMIT


def test_long_texts_are_cut_and_the_list_has_them_whole(webhook_server, receiver, upstream):
    """The letters have three bytes; the question about the result has the same text as `output`."""
    text = "\u20ac" * 20_000
    asks_for(upstream, call("test_slow", text=text))
    client = webhook_server.sdk()
    http = webhook_server.http()
    permissions = {"test/test_slow": {"execution": "ask-always", "result": "always"}}
    ask = {**WEBHOOK["runnel"], "permissions": permissions}
    answers = queue.Queue()
    threading.Thread(target=lambda: answers.put(client.responses.create(
        model="demo", input="go", tools=[TEST], extra_body={"runnel": ask}))).start()

    event = read(receiver.next())
    asked = event["data"]
    whole = http.get(f"{APPROVALS}/{asked['id']}").json()
    assert event["truncated"] is True and json.loads(whole["arguments"])["text"] == text
    check_cut(asked["arguments"], whole["arguments"])
    http.post(f"{APPROVALS}/{asked['id']}", json={"approve": True})

    event = read(receiver.next())
    asked = event["data"]
    whole = http.get(f"{APPROVALS}/{asked['id']}").json()["result"]
    assert event["truncated"] is True and asked["kind"] == "result"
    assert asked["length"] == whole["length"] and asked["truncated"] == whole["truncated"]
    check_cut(asked["output"], whole["output"])
    http.post(f"{APPROVALS}/{asked['id']}", json={"approve": True})
    assert answers.get(timeout=patience(30)).status == "completed"


def test_posts_at_once_are_limited(webhook_server, receiver, upstream, log):
    receiver.answers.clear()
    asks_for(upstream, *[call("test_count", number=n, path=log.name, text="counted")
                         for n in range(1, 13)])
    answers = queue.Queue()
    ask = {"model": "demo", "input": "go", "tools": [TEST], **WEBHOOK}
    http = webhook_server.http()
    threading.Thread(target=lambda: answers.put(
        webhook_server.http().post("/v1/responses", json=ask).json())).start()
    sent = [read(receiver.next())["data"]["id"] for _ in range(8)]
    assert len(http.get(f"{APPROVALS}?limit=50").json()["data"]) == 12
    receiver.answers.set()
    sent += [read(receiver.next())["data"]["id"] for _ in range(4)]
    assert len(set(sent)) == 12 and receiver.most_at_once == 8
    for asked in sent:
        http.post(f"{APPROVALS}/{asked}", json={"approve": True})
    assert answers.get(timeout=patience(30))["status"] == "completed"


@pytest.mark.feature("F109")
def test_a_private_webhook_address_must_be_opened(start_server, receiver, upstream,
                                                               log, tmp_path):
    server = start_server(config=configured(tmp_path, receiver, open_it=False))
    answers = begin(server, upstream, log,
                    runnel={"approval": {"channel": "webhook", "hold_timeout_s": 2}})
    assert answers.get(timeout=patience(30))["status"] == "completed"
    assert receiver.received.empty()


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/threads/runs"])
def test_without_a_webhook_the_channel_is_refused(http, client, path):
    body = {"model": "demo", "input": "go"}
    if "threads" in path:
        body = {"assistant_id": client.beta.assistants.create(model="demo").id}
    refused = http.post(path, json={**body, **WEBHOOK})
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"] == {
        "message": "Unsupported value: 'webhook': this project has no webhook.",
        "type": "invalid_request_error", "param": "runnel.approval.channel",
        "code": "unsupported_value"}


@pytest.mark.parametrize("entry, why", [
    ("{url: \"http://a.example\"}", "approval_webhooks[0]: expected either 'secret' or 'secret_env'"),
    ("{url: \"ftp://a.example\", secret: " + SECRET + "}", "approval_webhooks[0].url"),
    ("{url: \"http://a.example\", secret: whsec_c2hvcnQ=}", "24 to 64 bytes in base64"),
    ("{url: \"http://a.example\", secret_env: RUNNEL_NOT_THERE}", "RUNNEL_NOT_THERE is not set"),
    ("{url: \"http://a.example\", secret: " + SECRET + ", event: x}", "event"),
])
def test_an_invalid_webhook_is_refused_at_start(binary, tmp_path, entry, why):
    path = tmp_path / "runnel.yaml"
    path.write_text(f"approval_webhooks:\n  - {entry}\n")
    ended = subprocess.run([binary, "serve", "--config", path, "--data-dir", tmp_path / "data"],
                           capture_output=True, text=True, check=False, timeout=patience(60),
                           env=clean_environment())
    assert ended.returncode == 2 and why in ended.stderr, ended.stderr
    assert SECRET not in ended.stderr


def test_a_webhook_of_an_unknown_project_is_refused_at_start(binary, start_server, tmp_path):
    """A typing error makes no project."""
    server = start_server()
    server.stop()
    path = tmp_path / "runnel.yaml"
    path.write_text("approval_webhooks:\n"
                    f"  - {{project: defualt, url: \"http://a.example\", secret: {SECRET}}}\n")
    command = [binary, "serve", "--config", path, "--listen", server.settings["listen"], *server.where()]
    for _ in range(2):  # the first has not made it for the second
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(120),
                               env=clean_environment())
        assert ended.returncode == 1, ended.stderr
        assert "approval_webhooks[0].project: there is no project 'defualt'" in ended.stderr
    server.new_key("defualt")
    server.settings["config"] = path
    server.start()
