"""Clients clean up by paging through a list and deleting what they see."""

import json

import pytest

from harness.tools import call
from test_approvals import answer, asks_for, questions
from test_conversations import say
from test_import import ASSISTANT, THREAD, message, run_import
from test_skills import skill_file

ORDERS = pytest.mark.parametrize("order", ["asc", "desc"])


def clean_up(http, path, order="desc", delete=None):
    """Pages of two, each deleted before the next is requested. How many there were."""
    after, seen = {}, 0
    while True:
        page = http.get(path, params={"limit": 2, "order": order, **after})
        assert page.status_code == 200, page.text
        for one in page.json()["data"]:
            gone = delete(one) if delete else http.delete(f"{path}/{one['id']}")
            assert gone.status_code == 200, gone.text
            after, seen = {"after": one.get("id", one.get("name"))}, seen + 1
        if not page.json()["has_more"]:
            return seen


@ORDERS
def test_assistants_and_messages(start_server, binary, tmp_path, order):
    """Also imported ones, whose ids say nothing about their age."""
    server = start_server()
    http = server.http()
    dumped = [{**ASSISTANT, "id": f"asst_{letter * 24}", "created_at": 1600000000 + age}
              for age, letter in enumerate("zm0")]
    messages = [{**message(n, 1700000000 + n), "id": f"msg_{letter * 24}"}
                for n, letter in enumerate("zm0")]
    (tmp_path / "a.ndjson").write_text(
        "".join(json.dumps(one) + "\n" for one in [*dumped, THREAD, *messages]))
    assert run_import(binary, server, tmp_path / "a.ndjson").returncode == 0
    path = f"/v1/threads/{THREAD['id']}/messages"
    for _ in range(4):
        http.post("/v1/assistants", json={"model": "demo"})
        http.post(path, json={"role": "user", "content": "x"})
    assert clean_up(http, "/v1/assistants", order) == 7
    assert clean_up(http, path, order) == 7
    assert http.get(path).json()["data"] == []


@ORDERS
@pytest.mark.parametrize("read", [False, True])
def test_items_of_a_conversation(http, order, read):
    """With a response, their rows are kept for it."""
    made = http.post("/v1/conversations", json={"items": [say(f"{n}") for n in range(7)]}).json()
    if read:
        http.post("/v1/responses", json={"model": "demo", "input": "x", "conversation": made["id"]})
    assert clean_up(http, f"/v1/conversations/{made['id']}/items", order) == (9 if read else 7)


@ORDERS
def test_skills_and_prompts(http, order):
    paths = {"/v1/skills": lambda n: {"content": skill_file(name=f"clean-{order}-{n}")},
             "/v1/runnel/prompts": lambda n: {"instructions": f"{n}"}}
    for path, body in paths.items():
        for n in range(5):
            made = http.post(path, json=body(n))
            assert made.status_code == 200, made.text
        assert clean_up(http, path, order) >= 5


@ORDERS
def test_tool_settings(http, order):
    path = "/v1/runnel/tool_settings"
    for n in range(5):
        http.post(path, params={"user": f"clean-{n}"}, json={})
    assert clean_up(http, path + "/users", order, lambda one: http.delete(
        path, params={"user": one["user"]})) >= 5


@ORDERS
def test_grants(client, http, upstream, log, order):
    """Each is made by an answer that is remembered."""
    tool = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
    settings = {"runnel": {"permissions": {"test": {"execution": "ask-once"}}}}
    for n in range(3):
        asks_for(upstream, call("test_count", path=log.name, text=f"{order} {n}"))
        asked = client.responses.create(model="demo", tools=[tool], input="go", extra_body=settings)
        (question,) = questions(asked)
        client.responses.create(
            model="demo", tools=[tool], extra_body=settings, previous_response_id=asked.id,
            input=[answer(question, True, runnel={"remember": {"match": "exact"}})])
    assert clean_up(http, "/v1/runnel/approval_grants", order) == 3


@ORDERS
def test_variables(http, order):
    made = http.post("/v1/threads", json={}).json()
    path = f"/v1/runnel/threads/{made['id']}/variables"
    for n in range(5):
        assert http.post(path, json={"name": f"v{n}", "value": "x"}).status_code == 200
    assert clean_up(http, path, order, lambda one: http.delete(f"{path}/{one['name']}")) == 5


def test_a_page_before_an_object_that_is_gone(http):
    made = http.post("/v1/threads", json={"messages": [
        {"role": "user", "content": f"{n}"} for n in range(5)]}).json()
    path = f"/v1/threads/{made['id']}/messages"
    ids = [one["id"] for one in http.get(path, params={"order": "asc"}).json()["data"]]
    http.delete(f"{path}/{ids[2]}")
    page = http.get(path, params={"order": "asc", "before": ids[2]}).json()
    assert [one["id"] for one in page["data"]] == ids[:2]
    page = http.get(path, params={"order": "desc", "before": ids[2]}).json()
    assert [one["id"] for one in page["data"]] == [ids[4], ids[3]]
    # An id of another kind is no place in this list.
    answer = http.get(path, params={"after": made["id"].replace("thread_", "run_")})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "after"
