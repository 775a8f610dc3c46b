"""MCP servers of the operator that are processes: the official SDK's server over stdio, in a box; and processes that end,
that write garbage, and that do not stop."""

import http.server
import json
import re
import subprocess
import sysconfig
import threading
import time

import pytest

from harness.patience import patience
from harness.process import clean_environment
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call

SDK = '''
import os, sys, time
from mcp.server import MCPServer
server = MCPServer("notes")

@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b

@server.tool()
def about() -> str:
    """Where it runs."""
    def closed(path):
        try:
            open(path, "w")
        except OSError:
            return "closed"
    return f"{os.getpid() > 0} {os.getcwd()} {os.environ['HOME']} {os.environ['KIND']} {closed('/mnt/server/x')} " \\
           f"{os.path.exists('/etc/shadow')} {'RUNNEL' in str(os.environ)}"

@server.tool()
def started() -> str:
    """When it began."""
    return str(BEGAN)

@server.tool()
def end() -> str:
    """Ends the process."""
    os._exit(3)

@server.tool()
def slow() -> str:
    """Takes its time."""
    time.sleep(600)

BEGAN = time.monotonic_ns()
server.run("stdio")
'''

# Speaks just enough of the protocol, and then does what its argument says.
RAW = '''
import json, sys
def send(message):
    print(json.dumps(message), flush=True)
def answer(message, result):
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        print("a line that is no message", flush=True)
        send({"jsonrpc": "2.0", "id": "ping", "method": "ping"})
        answer(message, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                         "serverInfo": {"name": "raw", "version": "1"}})
    elif method == "tools/list":
        answer(message, {"tools": [{"name": n, "inputSchema": {"type": "object", "properties": {}}}
                                   for n in ("garbage", "endless", "long", "deaf", "fine")]})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "fine":
            answer(message, {"content": [{"type": "text", "text": "fine"}]})
        while name == "garbage":
            print("no JSON", flush=True)
        while name == "endless":
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 60000}})
        while name == "long":
            sys.stdout.write("x" * 60000)
'''


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def configured(tmp_path):
    def configured(*servers, **settings):
        config = tmp_path / "runnel.yaml"
        config.write_text(json.dumps({"mcp_servers": list(servers), **settings}))
        return config
    return configured


def sdk_server(**more):
    """Its packages are those of the tests, which a box sees in its folder."""
    return {"name": "notes", "command": ["python3", "-c", SDK], "folder": sysconfig.get_paths()["purelib"],
            "environment": {"PYTHONPATH": "/mnt/server", "KIND": "test", "PYTHONDONTWRITEBYTECODE": "1"}, **more}


def raw_server(**more):
    return {"name": "raw", "command": ["python3", "-c", RAW], **more}


@pytest.fixture
def notes(start_server, configured):
    return start_server(config=configured(sdk_server()), tool_timeout=20)


@pytest.fixture
def raw(start_server, configured):
    return start_server(config=configured(raw_server()), tool_timeout=20)


def respond(client, upstream, *calls, label="notes", **body):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call(f"{label}__{name}", **arguments) for name, arguments in calls]}})
    return client.responses.create(**{"model": "demo", "input": "go", "tools": [
        {"type": "mcp", "server_label": label, "require_approval": "never"}], **body})


def outputs(response):
    return [item.output if item.error is None else item.error for item in response.output if item.type == "mcp_call"]


def failure(response):
    (error,) = outputs(response)
    return json.dumps(error.to_dict() if hasattr(error, "to_dict") else error)


def figure(server, name):
    for line in server.http().get("/metrics").text.splitlines():
        if line.startswith(f"runnel_{name} "):
            return float(line.split()[1])
    return None


def test_the_sdks_server_is_called_in_its_box(notes, upstream):
    response = respond(notes.sdk(), upstream, ("add", {"a": 2, "b": 3}), ("about", {}))
    (listed,) = [item for item in response.output if item.type == "mcp_list_tools"]
    assert {tool.name for tool in listed.tools} == {"add", "about", "started", "end", "slow"}
    added, about = outputs(response)
    assert added == "5" and about == "True /mnt/server /tmp test closed False False"
    assert figure(notes, "mcp_processes") == 1


def test_runs_and_calls_share_one_process(notes, upstream):
    client = notes.sdk()
    first = outputs(respond(client, upstream, ("started", {}), ("started", {})))
    again = outputs(respond(client, upstream, ("started", {})))
    assert len({*first, *again}) == 1
    assert figure(notes, "mcp_processes_started_total") == 1


def test_projects_have_a_process_each(notes, upstream):
    mine = outputs(respond(notes.sdk(), upstream, ("started", {})))
    import openai
    other = openai.OpenAI(base_url=f"{notes.url}/v1", api_key=notes.new_key("other"), max_retries=0)
    theirs = outputs(respond(other, upstream, ("started", {})))
    assert mine != theirs and figure(notes, "mcp_processes") == 2


def test_a_call_in_flight_fails_when_the_process_ends_and_the_next_run_starts_it_again(notes, upstream):
    client = notes.sdk()
    before = outputs(respond(client, upstream, ("started", {})))
    assert "has ended" in failure(respond(client, upstream, ("end", {})))
    after = outputs(respond(client, upstream, ("started", {})))
    assert before != after
    assert figure(notes, "mcp_processes_started_total") == 2 and figure(notes, "mcp_processes_ended_total") == 1


def test_it_is_started_five_times_in_ten_minutes_and_no_more(notes, upstream):
    client = notes.sdk()
    for _ in range(5):
        respond(client, upstream, ("end", {}))
    response = respond(client, upstream, ("end", {}))
    assert "has ended too often, and is not started again yet" in json.dumps(response.to_dict())
    assert figure(notes, "mcp_processes_started_total") == 5


def test_a_late_call_is_cancelled_and_the_process_goes_on(start_server, configured, upstream):
    server = start_server(config=configured(sdk_server()), tool_timeout=2)
    client = server.sdk()
    assert "did not answer within 2 s" in failure(respond(client, upstream, ("slow", {})))
    assert figure(server, "mcp_processes") == 1


def test_an_unused_process_ends(start_server, configured, upstream):
    server = start_server(config=configured(raw_server()), sandbox_idle=1)
    assert outputs(respond(server.sdk(), upstream, ("fine", {}), label="raw")) == ["fine"]
    eventually(lambda: figure(server, "mcp_processes") == 0)
    assert figure(server, "mcp_processes_ended_total") == 0
    assert outputs(respond(server.sdk(), upstream, ("fine", {}), label="raw")) == ["fine"]


@pytest.mark.parametrize("name, why", [
    ("garbage", "writes something that is not JSON"),
    ("endless", "writes without being asked"),
    ("long", "writes a line that is too long"),
])
def test_output_without_end_is_bounded(raw, upstream, name, why):
    client = raw.sdk()
    assert why in failure(respond(client, upstream, (name, {}), label="raw"))
    assert outputs(respond(client, upstream, ("fine", {}), label="raw")) == ["fine"]


def test_a_program_that_is_missing_fails_the_list(start_server, configured, upstream):
    server = start_server(config=configured({"name": "none", "command": ["/usr/bin/no-such-program"]}))
    upstream.script({"answer": {"text": "Done."}})
    response = server.sdk().responses.create(model="demo", input="go", tools=[
        {"type": "mcp", "server_label": "none", "require_approval": "never"}])
    # The server may notice first that nothing reads.
    assert re.search("has (ended|closed its input)", json.dumps(response.to_dict()))


def test_without_a_sandbox_it_is_refused(start_server, configured, upstream):
    server = start_server(config=configured(raw_server()), sandbox="off")
    answer = server.http().post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [{"type": "mcp", "server_label": "raw"}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"]) == (
        400, "unsupported_value", "Unsupported value: the MCP server 'raw' is not available on this server: the setting "
        "'sandbox' is 'off'.")
    assert upstream.chats() == []


@pytest.mark.parametrize("entry, part", [
    ({"name": "a", "command": []}, "mcp_servers[0].command: expected a program and its arguments"),
    ({"name": "a", "command": ["x"], "url": "https://a.example/mcp"}, "a server with a 'command' has no 'url'"),
    ({"name": "a", "url": "https://a.example/mcp", "memory": "64"}, "only a server with a 'command' has 'memory'"),
    ({"name": "a", "command": ["x"], "network": ["http://a"]}, "mcp_servers[0].network[0]: expected a host name"),
    ({"name": "a", "command": ["x"], "memory": "1"}, "memory"),
    ({"name": "a", "command": ["x"], "environment": {"A=B": "c"}}, "mcp_servers[0].environment.A=B: expected one value"),
])
def test_an_entry_that_makes_no_sense_is_refused(binary, configured, entry, part):
    done = subprocess.run([binary, "serve", "--config", str(configured(entry))], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(60), check=False)
    assert done.returncode == 2 and part in done.stderr, done.stderr


# ---- Memory ----

GIB = 1 << 30


def fill(server, upstream, count):
    """That many processes run, which no run uses."""
    for i in range(count):
        assert outputs(respond(server.sdk(), upstream, ("fine", {}), label=f"raw{i}")) == ["fine"]
    assert figure(server, "mcp_processes") == count


def interpret(server, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("python", code="print(6 * 7)")]}})
    response = server.sdk().responses.create(model="demo", input="go", tools=[
        {"type": "code_interpreter", "container": {"type": "auto"}}])
    return upstream.chats()[-1]["messages"][-1]["content"], response


def test_a_container_gets_the_memory_of_unused_processes(start_server, configured, upstream):
    """Four of them fill what boxes have together. Those that were unused longest end, and no more than needed."""
    config = configured(*[raw_server(name=f"raw{i}", memory=512) for i in range(4)])
    server = start_server(config=config, sandbox_memory=2 * GIB, tool_timeout=20)
    fill(server, upstream, 4)
    begin = time.monotonic()
    assert interpret(server, upstream)[0] == "42\n"
    assert time.monotonic() - begin < 15
    assert figure(server, "mcp_processes") == 2 and figure(server, "mcp_processes_ended_total") == 0
    assert outputs(respond(server.sdk(), upstream, ("fine", {}), label="raw3")) == ["fine"]
    assert figure(server, "mcp_processes_started_total") == 4
    # And the other way round: it takes the memory of the container's idle box.
    assert outputs(respond(server.sdk(), upstream, ("fine", {}), label="raw0")) == ["fine"]
    assert figure(server, "mcp_processes_started_total") == 5


def test_a_process_that_is_used_keeps_its_memory(start_server, configured, upstream):
    server = start_server(config=configured(sdk_server(memory=1024)), sandbox_memory=GIB, tool_timeout=8)
    client = server.sdk()
    begun = threading.Thread(target=respond, args=(client, upstream, ("slow", {})))
    begun.start()
    eventually(lambda: figure(server, "mcp_processes") == 1)
    eventually(lambda: upstream.chats(), len)
    text = interpret(server, upstream)[0]
    begun.join()
    assert text == "42\n" and figure(server, "mcp_processes") == 0


# ---- Network ----

LOADER = RAW.replace('"fine")]})', '"fine", "load")]})').replace('''        if name == "fine":''', '''        if name == "load":
            import os, urllib.request
            for kind in ("no_proxy", "NO_PROXY"):
                os.environ.pop(kind, None)
            got = 0
            try:
                with urllib.request.urlopen(os.environ["FROM"], timeout=60) as body:
                    while piece := body.read(1 << 20):
                        got += len(piece)
            except OSError as error:
                got = str(error)
            answer(message, {"content": [{"type": "text", "text": str(got)}]})
        if name == "fine":''')
LOAD = 160  # MiB; two of them are more than a call may carry


class Loads(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(LOAD << 20))
        self.end_headers()
        for _ in range(LOAD):
            self.wfile.write(bytes(1 << 20))

    def log_message(self, *_):
        pass


def test_each_call_may_carry_as_much_as_any(start_server, configured, upstream):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Loads)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    config = configured({"name": "raw", "command": ["python3", "-c", LOADER], "network": ["localhost"],
                         "environment": {"FROM": f"http://localhost:{site.server_port}/"}},
                        network={"allow_internal_hosts": [f"localhost:{site.server_port}"]},
                        sandbox={"network": {"allowed_domains": ["localhost"]}})
    server = start_server(config=config, tool_timeout=60)
    for _ in range(3):
        assert outputs(respond(server.sdk(), upstream, ("load", {}), label="raw")) == [str(LOAD << 20)]
    assert figure(server, "mcp_processes_started_total") == 1
    site.shutdown()
    site.server_close()
