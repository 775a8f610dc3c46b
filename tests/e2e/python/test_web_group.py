"""The group web: the model fetches pages of a site on loopback, which the configuration opens, on both faces."""

import http.server
import json
import threading

import pytest

from harness.tools import call

PAGE = b"""<title>Tea</title><nav><a href="/">Home</a></nav><main><h1>Tea</h1><p>Boil <b>water</b> first.</p>
<p>Then see <a href="/cups">the cups</a>.</p></main><footer>Imprint</footer>"""
GROUP = {"type": "mcp", "server_label": "web", "server_url": "builtin:web"}
FREE = "tools: {permissions: {web: {execution: auto, result: never}}}\n"


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
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
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.asked = []
    server.place = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def opened(start_server, site, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(f'network: {{allow_internal_hosts: ["{site.place}"]}}\n{FREE}')
    return start_server(config=config)


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
