"""The group web: the model fetches pages of a site on loopback, which the configuration opens, on both faces."""

import http.server
import json

import pytest

from harness.patience import patience
from harness.server import eventually
from harness.site import may_fetch, opened_site
from harness.tools import call

PAGE = b"""<title>Tea</title><nav><a href="/">Home</a></nav><main><h1>Tea</h1><p>Boil <b>water</b> first.</p>
<p>Then see <a href="/cups">the cups</a>.</p></main><footer>Imprint</footer>"""
GROUP = {"type": "mcp", "server_label": "web", "server_url": "builtin:web"}
FREE = "tools: {permissions: {web: {execution: auto, result: never}}}\n"


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        if self.path.startswith("/slow"):
            self.server.let_go.wait(patience(60))
        if self.path == "/inside":
            self.send_response(302)
            self.send_header("location", "http://169.254.169.254/latest/meta-data")
        else:
            self.send_response(200 if self.path == "/tea" else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE if self.path == "/tea" else b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with opened_site(Site) as server:
        yield server


@pytest.fixture
def open_site(start_server, site, tmp_path):
    """Starts a server that may fetch from the site."""
    config = tmp_path / "runnel.yaml"
    config.write_text(may_fetch(site) + FREE)
    return lambda **settings: start_server(config=config, **settings)


@pytest.fixture
def opened(open_site):
    return open_site()


def run(client, upstream, name, **arguments):
    """The output of one call, in a response."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Boil it."}},
                    {"answer": {"tool_calls": [call(name, **arguments)]}})
    response = client.responses.create(model="demo", input="How?", tools=[GROUP])
    (item,) = [item for item in response.output if item.type == "mcp_call"]
    return item.output or item.error.content[0]["text"]


@pytest.mark.feature("F51")
def test_pages_are_fetched_searched_and_taken_apart(opened, upstream, site):
    client, url = opened.sdk(), f"http://{site.place}/tea"
    text = run(client, upstream, "FetchWebPage", url=url, keepLink=True)
    assert text == (f"| Page | |\n| --- | --- |\n| Title | Tea |\n| URL | {url} |\n\n"
                    f"# Tea\n\nBoil water first.\n\nThen see [the cups](http://{site.place}/cups).")
    assert run(client, upstream, "SearchInWebPage", url=url, keywords=["WATER"]) == (
        f"Found in 1 of 3 paragraphs of {url}\n\n"
        "[1] begin=0, limit=44\n# Tea\n\nBoil water first.\n\nThen see the cups.")
    assert run(client, upstream, "ExtractHTML", url=url, querySelector="main > h1") == "<h1>Tea</h1>"
    assert "- main (html > body > main)" in run(client, upstream, "InspectDOMStructure", url=url)
    assert not {"authorization", "cookie"} & {name.lower() for name in site.asked[-1][1]}


@pytest.mark.feature("F109")
@pytest.mark.parametrize("path", ["http://127.0.0.1/", "http://[::ffff:10.0.0.1]/", "/inside"])
def test_no_page_leads_into_the_own_network(opened, upstream, site, path):
    url = f"http://{site.place}{path}" if path.startswith("/") else path
    error = json.loads(run(opened.sdk(), upstream, "FetchWebPage", url=url))
    assert error == {"code": "INVALID_URL", "message": "Its address is not one of the public internet.", "url": url}


@pytest.mark.feature("F51")
def test_a_run_of_a_thread_fetches_pages_too(opened, upstream, site):
    client = opened.sdk()
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Boil it."}},
                    {"answer": {"tool_calls": [call("FetchWebPage", url=f"http://{site.place}/none")]}})
    assistant = client.beta.assistants.create(model="demo", extra_body={"runnel": {"tool_groups": {"web": True}}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "How?"}])
    made = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert made.status == "completed"
    [result] = [each for each in upstream.chats()[-1]["messages"] if each["role"] == "tool"]
    assert json.loads(result["content"].split("\n}")[0] + "}")["code"] == "FETCH_FAILED"


@pytest.mark.feature("F109")
def test_slow_pages_hold_up_no_tool_of_another_project(open_site, upstream, site):
    """16 slow pages: more than there are workers of all tools, and as many as there are of the web."""
    server = open_site(tool_workers=2, web_calls=16)
    ours = server.sdk()
    theirs = ours.with_options(api_key=server.new_key("strangers"))
    slow = [call("FetchWebPage", number, url=f"http://{site.place}/slow/{number}") for number in range(16)]
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}}, {"answer": {"tool_calls": slow}})
    waiting = ours.responses.create(model="demo", input="Read.", tools=[GROUP], background=True)
    eventually(lambda: len(site.asked), lambda count: count == 12)

    url = f"http://{site.place}/tea"
    assert "Boil water" in run(theirs, upstream, "FetchWebPage", url=url)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("datetime")]}})
    basic = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic"}
    assert theirs.responses.create(model="demo", input="When?", tools=[basic]).output[-2].output
    assert ours.responses.create(model="demo", input="When?", tools=[basic]).output[-2].output

    assert ours.responses.retrieve(waiting.id).status == "in_progress"
    site.let_go.set()
    ended = eventually(lambda: ours.responses.retrieve(waiting.id), lambda got: got.status == "completed")
    assert len([item for item in ended.output if item.type == "mcp_call"]) == 16


@pytest.mark.feature("F51")
def test_a_run_fetches_a_page_once(opened, upstream, site):
    """Its tools share the page; another run, of the same project or not, fetches it anew."""
    url = f"http://{site.place}/tea"
    rounds = [call("FetchWebPage", 1, url=url), call("SearchInWebPage", 2, url=f"{url}#cups", keywords=["cups"]),
              call("ExtractHTML", 3, url=url, querySelector="h1")]
    script = [{"match": {"tool_results": number}, "answer": {"tool_calls": [each]}}
              for number, each in enumerate(rounds)] + [{"answer": {"text": "Done."}}]
    client = opened.sdk()
    for key in (None, None, opened.new_key("strangers")):
        upstream.script(*script)
        asking = client.with_options(api_key=key) if key else client
        site.asked.clear()
        response = asking.responses.create(model="demo", input="How?", tools=[GROUP])
        assert [item.error for item in response.output if item.type == "mcp_call"] == [None] * 3
        assert [path for path, _ in site.asked] == ["/tea"]
