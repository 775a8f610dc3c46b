"""Files that requests name by their URLs: fetched by the server, within its rules, and read as files that came with it."""

import contextlib
import http.server
import json
import threading
import time

import openai
import pytest

from harness.patience import patience
from harness.pdf import pdf
from harness.server import eventually
from harness.websocket import WebSocket

MANUAL = pdf("How to begin", "How to end")
READ = "[file manual.pdf, page 1 of 2]\nHow to begin\n\n\n\n[file manual.pdf, page 2 of 2]\nHow to end"
LIMIT = 50 << 20


class Site:
    """A web server of files: a path to its status, headers and body."""

    def __init__(self):
        self.pages, self.asked, self.silent = {}, [], threading.Event()
        self.held = threading.Event()  # pages below /held wait for it
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append((self.path, dict(self.headers)))
                status, headers, body = site.pages.get(self.path, (404, {}, b"no"))
                if self.path == "/silent":
                    site.silent.wait(60)
                if self.path.startswith("/held"):
                    site.held.wait(60)
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, path, body, status=200, **headers):
        self.pages[path] = status, {name.replace("_", "-"): value for name, value in headers.items()}, body
        return f"http://{self.place}{path}"

    def close(self):
        self.silent.set()
        self.held.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture
def opened_with(site, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(f'network: {{allow_internal_hosts: ["{site.place}"]}}\n')
    return config


@pytest.fixture
def opened(start_server, opened_with, upstream):
    """A server that may fetch from the site."""
    return start_server(config=opened_with)


@pytest.fixture
def client(opened):
    return opened.sdk()


def file(url, **more):
    return {"type": "input_file", "file_url": url, **more}


def message(*parts):
    return {"role": "user", "content": list(parts)}


TEXT = {"type": "input_text", "text": "What is it?"}


def ask(client, *parts, **more):
    return client.responses.create(model="m", input=[message(*parts)], **more)


def sent(upstream):
    return upstream.chats()[-1]["messages"][-1]["content"]


def test_a_file_is_fetched_and_read(client, site, upstream):
    part = file(site.put("/docs/manual.pdf?version=2", MANUAL))
    made = ask(client, part, TEXT)
    assert made.status == "completed" and sent(upstream) == READ + "\n\nWhat is it?"
    [item] = client.responses.input_items.list(made.id)
    assert item.content[0].to_dict() == part
    assert not {"authorization", "cookie"} & {name.lower() for name in site.asked[-1][1]}
    fetched = len(site.asked)
    client.responses.create(model="m", input="And then?", previous_response_id=made.id)
    assert upstream.chats()[-1]["messages"][0]["content"] == READ + "\n\nWhat is it?" and len(site.asked) == fetched


def test_pages_of_a_fetched_file_are_shown_in_later_turns_too(client, site, upstream):
    made = ask(client, file(site.put("/pages/manual.pdf", MANUAL), detail="high"))
    fetched = len(site.asked)
    text, *pages = sent(upstream)
    assert text["text"] == READ and [page["type"] for page in pages] == ["image_url"] * 2
    client.responses.create(model="m", input="And then?", previous_response_id=made.id)
    assert upstream.chats()[-1]["messages"][0]["content"] == [text, *pages] and len(site.asked) == fetched


def test_pages_of_fetched_files_are_kept_up_to_a_limit_of_the_request(client, site, upstream):
    large = file(site.put("/pages/large.pdf", pdf("All", trailer=f"\n%{'x' * (6 << 20)}\n")), detail="high")
    ask(client, large, large)
    assert [part["type"] for part in sent(upstream)] == ["text", "image_url", "text"]


@pytest.mark.parametrize("path, headers, more, name", [
    ("/a/tea.txt", {}, {}, "tea.txt"),
    ("/get?id=7", {"content_disposition": 'attachment; filename="tea.txt"'}, {}, "tea.txt"),
    ("/b/other", {"content_disposition": "inline; filename=tea.txt"}, {}, "tea.txt"),
    ("/c/other", {"content_disposition": 'inline; filename="../tea.txt"'}, {}, "other"),
    ("/d/other", {}, {"filename": "tea.txt"}, "tea.txt"),
    ("/", {}, {}, "without a name"),
])
def test_a_file_has_the_name_that_the_request_its_head_or_its_path_says(client, site, upstream, path, headers, more, name):
    ask(client, file(site.put(path, b"tea", **headers), **more))
    assert sent(upstream) == f"[file {name}]\ntea"


def test_all_files_of_a_request_are_fetched(client, site, upstream):
    ask(client, *[file(site.put(f"/{n}.txt", b"text %d" % n)) for n in range(32)])
    assert sent(upstream) == "\n\n".join(f"[file {n}.txt]\ntext {n}" for n in range(32))
    asked = len(site.asked)
    with pytest.raises(openai.BadRequestError, match="Too many files: a request may have 32."):
        ask(client, *[file(f"http://{site.place}/0.txt")] * 33)
    assert len(site.asked) == asked


def test_a_websocket_fetches_files_too(opened, site, upstream):
    with WebSocket(opened) as socket:
        assert socket.ask(model="m", input=[message(file(site.put("/manual.pdf", MANUAL)))])
    assert sent(upstream) == READ


def sockets_that_wait(opened, site, count, stack):
    """So many turns that wait for a site."""
    site.held.clear()
    asked = len(site.asked)
    url = site.put("/held.txt", b"tea")
    sockets = [stack.enter_context(WebSocket(opened)) for _ in range(count)]
    for socket in sockets:
        socket.create(model="m", input=[message(file(url))])
    eventually(lambda: len(site.asked), lambda number: number == asked + count)
    return sockets


def test_no_thread_of_websockets_waits_for_a_site(opened, site, upstream):
    """Twice as many as websocket_workers."""
    with contextlib.ExitStack() as stack:
        sockets = sockets_that_wait(opened, site, 8, stack)
        with WebSocket(opened) as other:
            assert other.ask(model="m", input="Hi")["status"] == "completed"
        site.held.set()
        for socket in sockets:
            assert socket.response()[-1]["type"] == "response.completed"
    assert [chat["messages"][-1]["content"] for chat in upstream.chats()] == ["Hi"] + ["[file held.txt]\ntea"] * 8


def test_a_client_of_a_websocket_leaves_while_its_file_is_fetched(opened, site, upstream):
    with contextlib.ExitStack() as stack:
        sockets_that_wait(opened, site, 2, stack)
    with WebSocket(opened) as other:
        assert other.ask(model="m", input="Hi")["status"] == "completed"
    eventually(lambda: opened.http().get("/metrics").text, lambda text: "\nrunnel_http_websockets 0\n" in text)
    site.held.set()
    assert len(upstream.chats()) == 1


def test_a_server_ends_while_a_file_is_fetched(start_server, site, opened_with):
    server = start_server(config=opened_with, drain_timeout=0.5)
    with contextlib.ExitStack() as stack:
        sockets_that_wait(server, site, 2, stack)
        assert server.stop() == 0
    site.held.set()


def test_items_of_a_conversation_and_outputs_of_calls_may_have_urls(client, site, upstream):
    part = file(site.put("/manual.pdf", MANUAL))
    made = client.conversations.create(items=[{"type": "message", **message(part)}])
    client.responses.create(model="m", conversation=made.id, input="And?")
    assert [m["content"] for m in upstream.chats()[-1]["messages"]] == [READ, "And?"]
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": [part]}
    client.responses.create(model="m", input=[message(TEXT), call, output])
    assert "How to begin" in json.dumps(upstream.chats()[-1]["messages"])


def refused(call):
    with pytest.raises(openai.BadRequestError) as raised:
        call()
    return raised.value.body


def fails(client, url, why):
    place = "input[0].content[1].file_url"
    assert refused(lambda: ask(client, TEXT, file(url))) == {
        "message": f"Invalid '{place}': the file could not be fetched: {why}", "param": place,
        "type": "invalid_request_error", "code": "invalid_value"}


def test_what_cannot_be_fetched_is_refused_with_its_cause(client, site, upstream):
    upstream.forget()
    fails(client, f"http://{site.place}/nowhere", "its server answered with status 404.")
    fails(client, site.put("/moved", b"", status=302, location=f"http://{site.place}/a"),
          "its server answered with a redirect (status 302), and redirects are not followed.")
    fails(client, site.put("/large", b"x" * (LIMIT + 1)), f"it has more than {LIMIT} bytes.")
    fails(client, site.put("/cut", b"text", content_length="100"), "the answer of its server broke off.")
    fails(client, "http://nowhere.invalid/a.pdf", "its server could not be reached.")
    fails(client, f"http://user:word@{site.place}/a.pdf", "the URL must not carry a user or a password.")
    fails(client, "file:///etc/passwd", "the URL must begin with http:// or https://.")
    assert upstream.requests() == []


def test_what_was_fetched_and_cannot_be_read_is_refused(client, site):
    error = refused(lambda: ask(client, TEXT, file(site.put("/a.pdf", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"))))
    assert (error["code"], error["param"]) == ("unsupported_file", "input[0].content[1].file_url")


def test_a_file_of_the_largest_size_is_fetched(client, site, upstream):
    ask(client, file(site.put("/largest.txt", b"x" * LIMIT)))
    assert sent(upstream).endswith(f"it has {LIMIT} bytes of text.]")


@pytest.mark.parametrize("place", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "[::ffff:127.0.0.1]:{port}",
                                   "169.254.169.254", "10.0.0.1"])
def test_an_address_within_is_refused(start_server, site, upstream, place):
    client = start_server().sdk()
    asked = len(site.asked)
    place = place.format(port=site.server.server_port)
    fails(client, f"http://{place}/0.txt", "its address is not one of the public internet.")
    assert len(site.asked) == asked


def test_a_redirect_to_within_is_not_followed(client, site, start_server):
    other = Site()
    inner = other.put("/secret.txt", b"secret")
    fails(client, site.put("/in", b"", status=307, location=inner),
          "its server answered with a redirect (status 307), and redirects are not followed.")
    assert other.asked == []
    other.close()


@pytest.mark.slow
def test_a_silent_server_holds_a_request_for_thirty_seconds_and_no_other(client, site, upstream):
    began, failed = time.monotonic(), []

    def wait():
        fails(client, site.put("/silent", b"x"), "it took too long: 30 seconds are the limit.")
        failed.append(time.monotonic() - began)
    waiting = [threading.Thread(target=wait) for _ in range(8)]
    for thread in waiting:
        thread.start()
    ask(client, file(site.put("/manual.pdf", MANUAL)))
    assert sent(upstream) == READ and not failed
    for thread in waiting:
        thread.join()
    assert len(failed) == 8 and all(29 < seconds < patience(55) for seconds in failed)


def test_an_upstream_that_reads_files_gets_the_url(start_server, site, upstream, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(json.dumps({"upstreams": [
        {"name": "main", "url": upstream.url, "inputs": ["text", "image", "file"]}]}))
    asked = len(site.asked)
    ask(start_server(upstream_url=None, config=config).sdk(), file(f"http://{site.place}/0.txt"))
    assert sent(upstream) == [{"type": "file", "file": {"file_url": f"http://{site.place}/0.txt"}}]
    assert len(site.asked) == asked
