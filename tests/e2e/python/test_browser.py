"""Pages of other origins in a real browser, with the SDKs for Node in them: what cors_origins lets
them do, and what it does not."""

import pathlib
import tempfile

import pytest

from harness.browser import Browser, Site, is_here
from harness.fault_fixtures import ended_well
from harness.server import Server, eventually
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = pytest.mark.skipif(not is_here(), reason="no chromium with its driver is here")

HELD = {"text": ["one ", "two ", "three"], "fault": {"kind": "stall", "after": 1}}


@pytest.fixture(scope="module")
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def browser(scratch):
    browser = Browser(pathlib.Path(tempfile.mkdtemp(prefix="browser-", dir=scratch)))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def start(binary, scratch, upstream_process, recorder, database):
    servers = []

    def start(**settings):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="browsed-", dir=scratch))
        directory.chmod(0o755)
        servers.append(Server(binary, directory, upstream_process.url, recorder,
                              database_url=database.new(), **settings))
        return servers[-1].start()

    yield start
    for server in servers:
        ended_well(server)


@pytest.fixture(scope="module")
def server(start, site):
    """It knows one of the site's origins."""
    return start(cors_origins=f"https://app.example, {site.origin}")


@pytest.fixture(scope="module")
def closed_server(start):
    return start()


@pytest.fixture(scope="module")
def open_server(start, site):
    """As `server`, without keys."""
    return start(cors_origins=site.origin, no_auth=True)


@pytest.fixture
def visit(browser, site):
    """visit(server, origin, sdk, key): a page with that SDK, set to that server."""
    def visit(server, origin=site.origin, sdk="openai", key=None):
        browser.open(origin, sdk)
        browser.run("useServer", baseURL=f"{server.url}/v1",
                    apiKey=key or server.settings["api_key"])
        return browser.run
    return visit


@pytest.fixture(params=["openai", "openai4", "openai5"])
def page(request, visit, server, upstream):
    return visit(server, sdk=request.param)


@pytest.fixture
def new_page(visit, server, upstream):
    return visit(server)


def text_of(events):
    return "".join(event["delta"] for event in events
                   if event["type"] == "response.output_text.delta")


def last_state(upstream):
    requests = upstream.requests()
    return requests[-1]["state"] if requests else None


# ---- what an application does ----

def test_a_page_reads_a_streamed_response(page):
    events = page("streamResponse", body={"input": "Hi"})
    assert text_of(events) == "Hello there, my friend."
    assert events[-1]["type"] == "response.completed"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_page_runs_an_assistant_and_answers_its_calls(page, upstream):
    upstream.script(*WEATHER_RULES)
    ran = page("runWithTools", tools=[WEATHER])
    assert ran["statuses"] == ["requires_action", "completed"]
    assert ran["said"] == "It is sunny."


def test_a_page_retrieves_cancels_and_deletes(page, upstream):
    upstream.answer(**HELD)
    managed = page("manageResponses")
    assert managed.pop("gone")["name"] == "NotFoundError"
    assert managed == {"found": True, "status": "cancelled", "items": 1}


def test_a_page_reads_the_first_token_while_the_model_still_writes(new_page, upstream):
    upstream.answer(**HELD)
    assert new_page("beginStream", body={"input": "Hi"}) == "one "
    assert last_state(upstream) == "open"
    new_page("abortStream")


def test_a_stream_that_a_page_aborts_ends_its_run(new_page, upstream):
    upstream.answer(**HELD)
    new_page("beginStream", body={"input": "Hi", "store": False})
    assert last_state(upstream) == "open"
    new_page("abortStream")
    eventually(lambda: last_state(upstream), lambda state: state == "client_left")


def test_a_page_that_is_closed_ends_its_run(new_page, upstream, browser):
    upstream.answer(**HELD)
    new_page("beginStream", body={"input": "Hi", "store": False})
    browser.close_page()
    eventually(lambda: last_state(upstream), lambda state: state == "client_left")


def test_a_page_can_resume_a_background_response(page):
    events = page("comeBack", body={"input": "Hi"})
    assert text_of(events) == "Hello there, my friend."
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_an_event_source_follows_a_background_response(visit, open_server, upstream):
    types = visit(open_server)("comeBackWithEventSource", baseURL=f"{open_server.url}/v1",
                               body={"input": "Hi"})
    assert types[0] == "response.created" and types[-1] == "response.output_text.delta"


# ---- what it learns of failures ----

def test_a_page_reads_why_its_key_is_refused(visit, server):
    failure = visit(server, key="sk-nobody")("attempt", name="models")
    assert (failure["name"], failure["status"]) == ("AuthenticationError", 401)
    assert (failure["type"], failure["code"]) == ("invalid_request_error", "invalid_api_key")
    assert failure["requestID"].startswith("req_")
    assert failure["headers"]["x-should-retry"] == "false"


def test_a_page_reads_a_404(page):
    failure = page("attempt", name="retrieve", id="resp_nothing")
    assert (failure["name"], failure["status"]) == ("NotFoundError", 404)
    assert failure["requestID"] == failure["headers"]["x-request-id"]
    assert float(failure["headers"]["openai-processing-ms"]) >= 0


def test_a_page_reads_retry_after(new_page, upstream):
    upstream.answer(fault={"kind": "status", "status": 429, "retry_after": 3})
    failure = new_page("attempt", name="chat")
    assert failure["name"] == "RateLimitError"
    assert failure["headers"]["retry-after"] == "3"


def test_a_page_reads_the_poll_interval(new_page, upstream):
    """Without it, the SDK's helpers ask every five seconds."""
    upstream.answer(**HELD)
    assert new_page("headersOfUnfinished")["openai-poll-after-ms"] == "500"


# ---- strangers ----

def stored(server):
    """A response that strangers would like to read."""
    return server.http().post("/v1/responses", json={"model": "demo", "input": "Hi"}).json()["id"]


@pytest.mark.parametrize("case", ["other origin", "no origins"])
def test_a_page_of_an_unknown_origin_can_do_and_read_nothing(visit, server, closed_server, site,
                                                          upstream, case):
    server, origin = ((server, site.other_origin) if case == "other origin" else
                      (closed_server, site.origin))
    mine = stored(server)
    assistants = server.http().get("/v1/assistants").json()
    upstream.forget()
    run = visit(server, origin)
    for name in ["create", "stream", "retrieve", "remove", "assistant", "models", "chat"]:
        failure = run("attempt", name=name, id=mine)
        assert failure["name"] == "APIConnectionError", name
        assert not failure.get("status") and not failure["headers"]
    assert upstream.requests() == []
    assert server.http().get(f"/v1/responses/{mine}").status_code == 200
    assert server.http().get("/v1/assistants").json() == assistants


@pytest.mark.parametrize("origin, executed", [("origin", 1), ("other_origin", 0)])
def test_without_keys_requests_without_preflight_need_a_known_origin(
        visit, open_server, site, upstream, origin, executed):
    run = visit(open_server, getattr(site, origin))
    url = f"{open_server.url}/v1/responses"
    assert run("sendUnasked", url=url, body={"model": "demo", "input": "Hi"}) == "opaque"
    assert len(upstream.requests()) == executed


@pytest.mark.parametrize("headers, status", [
    ({}, 200),
    ({"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-origin"}, 200),
    ({"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-site"}, 403),
    ({"Origin": "http://localhost:5173"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "https://chat.example", "Sec-Fetch-Site": "same-origin"}, 200),
    # a name that its owner made lead to the proxy, and what his page's browser says of it
    ({"Origin": "http://rebound.example", "Sec-Fetch-Site": "same-origin"}, 403),
])
def test_without_keys_pages_of_the_server_itself_are_allowed(open_server, upstream, headers, status):
    """Behind a proxy that gives us its own paths the origin is the proxy's."""
    answer = open_server.http().post("/v1/responses", json={"model": "demo", "input": "Hi"},
                                     headers=headers)
    assert answer.status_code == status
    assert len(upstream.requests()) == (status == 200)
    assert open_server.http().get("/v1/models", headers=headers).status_code == 200


# ---- WebSocket ----

def over_socket(run, server, *protocols):
    return run("respondOverSocket", url=f"{server.url.replace('http', 'ws')}/v1/responses",
               protocols=list(protocols), body={"model": "demo", "input": "Hi"})


def key_of(server):
    return f"openai-insecure-api-key.{server.settings['api_key']}"


@pytest.mark.parametrize("keys", [True, False])
def test_a_page_responds_over_a_web_socket(visit, server, open_server, upstream, keys):
    if keys:
        received = over_socket(visit(server), server, "responses", key_of(server))
        assert received["protocol"] == "responses"
    else:
        received = over_socket(visit(open_server), open_server)
    assert text_of(received["events"]) == "Hello there, my friend."
    assert received["code"] == 1000


@pytest.mark.parametrize("case", ["other origin", "no origins", "wrong key", "no key"])
def test_a_page_of_an_unknown_origin_gets_no_web_socket(visit, server, closed_server, site, upstream, case):
    server = closed_server if case == "no origins" else server
    key = {"wrong key": ["openai-insecure-api-key.sk-nobody"], "no key": []}.get(case, [key_of(server)])
    run = visit(server, site.other_origin if case == "other origin" else site.origin)
    assert over_socket(run, server, "responses", *key) == {"events": [], "code": 1006,
                                                           "protocol": ""}
    assert upstream.requests() == []
