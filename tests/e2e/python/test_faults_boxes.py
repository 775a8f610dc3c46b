"""The server is killed at every point of the life of a box and of a file: nothing goes on, and nothing is half there."""

import os
import pathlib

import httpx2
import pytest

from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call, then_says

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code", "require_approval": "never"}
CONFIG = "tools: {permissions: {code: {execution: auto}}}\n"
POINTS = ["sandbox.box.open", "sandbox.memory_file", "sandbox.send", "sandbox.box.opened", "sandbox.box.start",
          "sandbox.box.poll", "sandbox.box.end", "boxes.open", "python.start", "workspace.open", "workspace.write",
          "workspace.sync", "workspace.rename"]


@pytest.fixture
def server(start_fault_server, binary, tmp_path):
    require_sandbox(binary)
    config = tmp_path / "runnel.yaml"
    config.write_text(CONFIG)
    return start_fault_server(sandbox_disk_reserve=0, config=config)


def alive_of(server, uids):
    """Processes of the server's boxes: by their user, or by the folders that bubblewrap mounts."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
            if path.stat().st_uid in uids or (b"bwrap" in line and str(server.directory).encode() in line):
                found.append(line)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_leaves_no_process_and_no_half_made_file(server, upstream, point):
    box = server.api().post("/containers", json={"name": "box"}).json()["id"]
    (folder,) = pathlib.Path(server.settings["data_dir"]).glob(f"workspaces/*/{box}/data")
    uids = {folder.stat().st_uid} - {0, os.geteuid()}
    tools = [{"type": "shell", "environment": {"type": "container_reference", "container_id": box}},
             {"type": "code_interpreter", "container": box}, CODE]

    def go():
        then_says(upstream, [call("shell", 1, commands=["setsid sleep 9872 & echo shell > shell"])],
                  [call("python", 2, code="import subprocess; subprocess.Popen(['sleep', '9872']); print(1)")],
                  [call("write", 3, file_path="written", content="whole\n")], text="Done.")
        return server.api().post("/responses", json={"model": "demo", "input": "go", "tools": tools})

    server.arm(f"{point}:1:kill")
    with pytest.raises(httpx2.HTTPError):
        go()
    assert server.has_fired()
    eventually(lambda: alive_of(server, uids), lambda alive: not alive)
    server.restart()
    assert list((folder.parents[2] / ".incoming").iterdir()) == []
    assert not (folder / "written").exists() or (folder / "written").read_text() == "whole\n"
    answer = go().json()
    assert answer["status"] == "completed", answer
    assert (folder / "written").read_text() == "whole\n" and (folder / "shell").exists()
    assert alive_of(server, uids)  # processes that go on are seen
    assert server.api().delete(f"/containers/{box}").status_code == 200
    assert not folder.parent.exists()
    eventually(lambda: alive_of(server, uids), lambda alive: not alive)
