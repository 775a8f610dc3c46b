"""F110: the server is killed at every step of programs that call tools. They are repeated, and come to their end."""

import json
import time

import httpx2
import pytest

from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.shapes import TEST_TOOLS, check_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FINAL = ("completed", "failed", "incomplete", "cancelled")
POINTS = ["run.write", "run.committed", "writer.result", "tool.before_run", "tool.after_run", "run.ask"]
TOOLS = [{"type": "programmatic_tool_calling"},
         {**TEST_TOOLS, "allowed_callers": ["programmatic"]},
         {"type": "function", "name": "ask", "strict": False, "parameters": {"type": "object"},
          "allowed_callers": ["programmatic"]}]
CODE = """const got = [];
for (let i = 0; i < 2; i++) got.push(await tools.test_count_idempotent({path: 'PATH'}));
got.push(Math.random(), Date.now(), await tools.ask({number: got.length}));
got.push(Math.random(), Date.now(), await tools.test_count_idempotent({path: 'PATH'}));
text(got);"""


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


def send(server, database, body):
    """The id of the response. The server may die before it has answered: then it is read from the store, or the
    request is sent again."""
    while True:
        began = time.time_ns() // 1000
        try:
            return server.api().post("/responses", json={"model": "demo", "background": True, "tools": TOOLS,
                                                         **body}).json()["id"]
        except httpx2.HTTPError:
            server.restart()
            made = database.ask(f"SELECT id FROM runs WHERE created_at >= {began}", url=server.settings["database_url"])
            if made:
                return made[0][0]


def finished(server, id):
    """The response when it has ended, whatever happens to the server."""
    def get():
        try:
            return server.api().get(f"/responses/{id}").json()
        except httpx2.HTTPError:
            server.restart()
            return {"status": "killed"}
    return eventually(get, lambda response: response["status"] in FINAL, seconds=60)


def go_through(server, upstream, database, path):
    code = CODE.replace("PATH", str(path))
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [{"name": "program", "id": "call_P", "arguments": {"code": code}}]}})
    first = finished(server, send(server, database, {"input": "go"}))
    asked = [item for item in first["output"] if item["type"] == "function_call"]
    assert first["status"] == "completed" and len(asked) == 1, first
    types = [item["type"] for item in first["output"]]
    assert types.count("program") == 1 and types.count("mcp_call") == 2 and types[-1] == "function_call", types
    second = finished(server, send(server, database, {
        "previous_response_id": first["id"],
        "input": [{"type": "function_call_output", "call_id": asked[0]["call_id"], "output": "7",
                   "caller": asked[0]["caller"]}]}))
    types = [item["type"] for item in second["output"] if item["type"] != "mcp_list_tools"]
    assert second["status"] == "completed" and types == ["mcp_call", "program_output", "message"], second
    ended = next(item for item in second["output"] if item["type"] == "program_output")
    a, b, chance, now, answer, more, later, c = json.loads(ended["result"])
    assert (a, b, answer, c) == ("done", "done", 7, "done") and json.loads(asked[0]["arguments"]) == {"number": 2}
    assert now == later and chance != more
    calls = [item for item in first["output"] + second["output"] if item["type"] == "mcp_call"]
    lines = path.read_text().split()
    assert list(dict.fromkeys(lines)) == [call["runnel"]["call_id"] for call in calls]
    check_database(database, server.settings["database_url"])
    return len(lines)


def test_a_program_without_a_fault(fault_server, upstream, database, tmp_path):
    fault_server.arm()
    assert go_through(fault_server, upstream, database, tmp_path / "count") == 3


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_every_step_of_a_program(fault_server, upstream, database, point, tmp_path):
    for visit in (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22):
        fault_server.arm(f"{point}:{visit}:kill")
        lines = go_through(fault_server, upstream, database, tmp_path / f"{point}-{visit}")
        fired = fault_server.has_fired()
        fault_server.arm()
        if not fired:
            assert visit > 1 and lines == 3
            return
        assert lines <= 4
