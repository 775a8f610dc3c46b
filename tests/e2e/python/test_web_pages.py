"""F51: open_page and find_in_page, which come along with web_search: pages of a site on loopback, on both faces."""

import http.server

import pytest

from harness.site import may_fetch, opened_site
from harness.tools import call

TOOL = {"type": "web_search"}
KIND = "response.web_search_call"
FUNCTIONS = ["web_search", "open_page", "find_in_page"]
PAGE = b"""<title>Tea</title><nav>Home</nav><main><h1>Tea</h1><p>Boil <b>water</b> first.</p>
<p>Then see <a href="/cups">the cups</a>.</p></main>"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200 if self.path == "/tea" else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE if self.path == "/tea" else b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with opened_site(Site) as server:
        server.tea = f"{server.url}/tea"
        yield server


@pytest.fixture
def start(start_server, upstream, site, tmp_path):
    def start(more=""):
        config = tmp_path / "runnel.yaml"
        url = upstream.url.removesuffix("/v1")
        config.write_text(may_fetch(site) +
                          f"web_search: [{{provider: searxng, url: '{url}', timeout: '20'}}]\n{more}")
        return start_server(config=config)
    return start


def finds(url):
    """The search service has one result."""
    return {"match": {"path": "/search"}, "answer": {"fault": {"kind": "status", "status": 200, "body": {
        "results": [{"url": url, "title": "All about tea", "content": "Tea."}]}}}}


def script(upstream, *rounds, rules=(), text="Done."):
    """The model makes one call in each round, and then says something."""
    upstream.script(*rules,
                    *[{"match": {"tool_results": number}, "answer": {"tool_calls": [each]}}
                      for number, each in enumerate(rounds)],
                    {"match": {"tool_results": len(rounds)}, "answer": {"text": text}})


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "Tea?", "tools": [TOOL], **body})


def read(upstream):
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


def offered(upstream):
    return [tool["function"]["name"] for tool in upstream.chats()[-1]["tools"]]


def test_pages_are_opened_and_searched_and_cited(start, upstream, site):
    client, tea = start().sdk(), site.tea
    script(upstream, call("web_search", 1, queries=["tea"]), call("open_page", 2, result=1),
           call("find_in_page", 3, url=tea, pattern="BOIL"), rules=[finds(tea)],
           text=f"Boil water. ([tea]({tea}))")
    response = respond(client)
    search, opened, found, message = response.output
    assert [item.type for item in (search, opened, found)] == ["web_search_call"] * 3
    assert [item.status for item in (search, opened, found)] == ["completed"] * 3
    assert opened.to_dict()["action"] == {"type": "open_page", "url": tea}
    assert found.to_dict()["action"] == {"type": "find_in_page", "url": tea, "pattern": "BOIL"}
    [cited] = message.content[0].annotations
    assert (cited.type, cited.url, cited.title) == ("url_citation", tea, "Tea")
    assert site.asked == ["/tea"]
    _, page, places = read(upstream)
    assert page.startswith(f"Tea — {tea}\nCite the page by a link")
    assert page.endswith(f"\n\n# Tea\n\nBoil water first.\n\nThen see [the cups](http://{site.place}/cups).")
    assert places.endswith("Found in 1 of 3 paragraphs.\n\n[1] begin=7, limit=17\nBoil water first.")


def test_a_page_is_a_result_that_may_be_included(start, upstream, site):
    client = start().sdk()
    script(upstream, call("open_page", url=site.tea), text=f"Boil. ([tea]({site.tea}))")
    response = respond(client, include=["web_search_call.results"])
    assert response.output[0].to_dict()["results"] == [{"url": site.tea, "title": "Tea"}]
    [cited] = response.output[1].content[0].annotations
    assert (cited.url, cited.title) == (site.tea, "Tea")


@pytest.mark.parametrize("name, action", [("open_page", {}), ("find_in_page", {"pattern": "Boil"})])
def test_events_have_the_action_from_the_beginning(start, upstream, site, name, action):
    client = start().sdk()
    script(upstream, call(name, url=site.tea, **action))
    with client.responses.stream(model="demo", input="Tea?", tools=[TOOL]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [e.type for e in events]
    begin = kinds.index("response.output_item.added")
    assert kinds[begin:begin + 5] == ["response.output_item.added", f"{KIND}.in_progress", f"{KIND}.searching",
                                      f"{KIND}.completed", "response.output_item.done"]
    assert events[begin].item.to_dict()["action"] == {"type": name, "url": site.tea, **action}
    assert events[begin + 4].item.to_dict() == final.output[0].to_dict()


@pytest.mark.parametrize("arguments, url, why", [
    ({"url": "/none"}, "/none", "The server of the page answered with status 404."),
    ({"url": "http://169.254.169.254/"}, "http://169.254.169.254/", "Its address is not one of the public internet."),
    ({"result": 7}, "", "No search has shown this number: say the url."),
])
def test_a_page_that_cannot_be_opened_is_a_failed_item(start, upstream, site, arguments, url, why):
    client = start().sdk()
    place = f"http://{site.place}"
    if arguments.get("url", "").startswith("/"):
        arguments, url = {"url": place + url}, place + url
    script(upstream, call("open_page", **arguments))
    response = respond(client)
    item, message = response.output
    assert (item.status, response.status, message.content[0].text) == ("failed", "completed", "Done.")
    assert item.to_dict()["action"] == {"type": "open_page", "url": url}
    assert read(upstream) == [f"The page could not be opened. {why}"]


def test_the_next_response_reads_the_call_by_its_name(start, upstream, site):
    client = start().sdk()
    script(upstream, call("open_page", url=site.tea))
    first = respond(client)
    upstream.answer(text="Again.")
    respond(client, previous_response_id=first.id)
    messages = upstream.chats()[-1]["messages"]
    [made] = [one for m in messages for one in m.get("tool_calls") or ()]
    assert made["function"]["name"] == "open_page" and site.tea in made["function"]["arguments"]
    assert "Boil water first." in read(upstream)[0] and site.asked == ["/tea"]


def test_a_request_says_which_pages_may_be_opened(start, upstream, site):
    client = start().sdk()
    script(upstream, call("open_page", url=site.tea))
    respond(client, tools=[{**TOOL, "filters": {"allowed_domains": ["example.org"]}}])
    assert read(upstream) == ["The page could not be opened. It is on a site that the request does not allow."]
    assert offered(upstream) == FUNCTIONS and not site.asked
    respond(client, tools=[{**TOOL, "external_web_access": False}])
    assert offered(upstream) == ["web_search"]
    respond(client, tools=[TOOL, {"type": "function", "name": "open_page", "parameters": {}}])
    assert offered(upstream) == ["web_search", "hosted__open_page", "find_in_page", "open_page"]


def test_a_policy_about_the_search_counts_for_pages(start, upstream, site):
    client = start("tools: {permissions: {hosted/web_search: {execution: ask-always}}}\n").sdk()
    script(upstream, call("open_page", url=site.tea))
    response = respond(client)
    [question] = [item for item in response.output if item.type == "mcp_approval_request"]
    assert (question.server_label, question.name) == ("hosted", "open_page") and not site.asked
    answered = respond(client, previous_response_id=response.id, input=[
        {"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}])
    assert [item.type for item in answered.output] == ["web_search_call", "message"] and site.asked == ["/tea"]


def test_a_run_of_a_thread_shows_a_function(start, upstream, site):
    client = start().sdk(strict=False)
    script(upstream, call("open_page", url=site.tea))
    assistant = client.beta.assistants.create(model="demo", tools=[TOOL])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Tea?"}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "completed"
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    [made] = [one for step in steps if step.type == "tool_calls" for one in step.step_details.tool_calls]
    assert (made.type, made.function.name) == ("function", "open_page")
    assert "Boil water first." in made.function.output
