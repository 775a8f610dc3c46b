"""A server that is killed while a tool writes a file: the file has the old bytes or the new ones, and the call is not
repeated."""

import pytest

from harness.faults import FINAL
from harness.server import eventually
from harness.tools import call
from test_faults_ingest import Shelf
from test_faults_tools import LOST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

GROUP = {"type": "mcp", "server_label": "documents", "server_url": "builtin:documents"}


@pytest.mark.feature("F54", "F110")
@pytest.mark.parametrize("point, after", [
    ("store_file_change", "Old."), ("store_file_change_stores", "Old."), ("tool.after_run", "Old.\nNew.")])
def test_a_write_is_whole_or_was_not_made(fault_server, upstream, database, point, after):
    api = fault_server.api()
    url = fault_server.settings["database_url"]
    file = api.post("/files", files={"file": ("a.txt", b"Old.")}, data={"purpose": "assistants"}).json()["id"]
    store = api.post("/vector_stores", json={"file_ids": [file]}).json()["id"]
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("appendDocument", file_id=file, content="New.")]}})
    asked = api.post("/responses", json={"model": "demo", "input": "go", "tools": [GROUP]}).json()
    (question,) = [item["id"] for item in asked["output"] if item["type"] == "mcp_approval_request"]
    fault_server.arm(f"{point}:1:kill")
    made = api.post("/responses", json={
        "model": "demo", "previous_response_id": asked["id"], "tools": [GROUP], "background": True,
        "input": [{"type": "mcp_approval_response", "approval_request_id": question, "approve": True}]}).json()["id"]
    eventually(lambda: fault_server.ended() is not None)
    fault_server.restart()
    done = eventually(lambda: fault_server.api().get(f"/responses/{made}").json(),
                      lambda found: found["status"] in FINAL, 60)
    (item,) = [item for item in done["output"] if item["type"] == "mcp_call"]
    assert done["status"] == "completed" and item["error"]["content"][0]["text"] == LOST
    assert fault_server.api().get(f"/files/{file}/content").text == after
    assert eventually(lambda: fault_server.api().get(f"/vector_stores/{store}").json()["file_counts"]["completed"] == 1)
    found = fault_server.api().post(f"/vector_stores/{store}/search", json={"query": "old new"}).json()["data"]
    assert found[0]["content"][0]["text"].strip() == after
    Shelf.assert_sound(database, url)
    assert database.ask(f"SELECT holders FROM blobs b JOIN files f ON f.blob_id = b.id WHERE f.id = '{file}'", url=url) == [["1"]]
