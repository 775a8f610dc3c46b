"""The list of tries (harness/escapes.py): whatever a model writes, through whichever tool, the host is as it was."""

import io
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import stat
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from harness.escapes import AFTER, COMMANDS, LONG, SERVER, SHORT, WAYS, native_rows
from harness.patience import patience
from harness.sandbox import require_sandbox
from harness.server import Server, eventually
from harness.tools import call

HERE = pathlib.Path(__file__).resolve()
SOURCE = HERE.parents[2] / "support" / "box_tries.c"
CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code"}
MIB = 1 << 20
SECRET = "what no box may read"

CONFIG = """
network: {allow_internal_hosts: ["localhost:PORT"]}
sandbox: {network: {allowed_domains: [localhost, "*.example.org"]}}
tools: {permissions: {code: {execution: auto}}}
"""


def row(*numbers):
    """Marks a test of rows that need the server."""
    def mark(test):
        test.rows = numbers
        return test
    return mark


def test_the_list_is_whole():
    rows = [number for value in list(globals().values()) for number in getattr(value, "rows", ())]
    assert sorted(rows) == sorted(SERVER)
    assert native_rows(SOURCE.read_text()) | {c.number for c in COMMANDS} | set(SERVER) == set(range(1, 81))


# ---- A server, and its host ----

class Host:
    """What a try that works would change, and places that nobody may reach."""

    def __init__(self, folder):
        self.secret = folder / "secret"
        self.secret.write_text(SECRET)
        self.name = f"runnel-escape-{os.getpid()}"
        self.sockets = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        self.sockets[0].bind(("127.0.0.1", 0))
        self.port = self.sockets[0].getsockname()[1]
        self.sockets[1].bind(f"\0{self.name}")
        self.file = folder / "socket"
        self.sockets[2].bind(str(self.file))
        for one in self.sockets:
            one.listen(8)
            one.setblocking(False)
        self.before = self.seen()

    def seen(self):
        def text(path):
            try:
                return pathlib.Path(path).read_text()
            except OSError:
                return None
        stats = {path: (found.st_mode, found.st_uid, found.st_mtime_ns)
                 for path in ("/", "/usr", "/usr/bin/env", "/etc", "/etc/passwd", "/dev", self.secret.parent, self.secret)
                 for found in [os.stat(path)]}
        return [stats, *map(text, ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/swaps",
                                   "/proc/modules", self.secret))]

    def assert_unchanged(self):
        assert self.seen() == self.before
        for one in self.sockets:
            with pytest.raises(BlockingIOError):
                one.accept()

    def close(self):
        for one in self.sockets:
            one.close()


@pytest.fixture(scope="module")
def host(scratch):
    folder = scratch / "host"
    folder.mkdir(mode=0o755)
    host = Host(folder)
    yield host
    host.close()


@pytest.fixture(scope="module")
def walls(binary, scratch, upstream_process, recorder, database, host):
    """A server whose containers may have little."""
    require_sandbox(binary)
    directory = scratch / "escape"
    directory.mkdir(mode=0o755)
    config = directory / "runnel.yaml"
    config.write_text(CONFIG.replace("PORT", str(host.port)))
    server = Server(binary, directory, upstream_process.url, recorder, database_url=database.new(), config=config,
                    sandbox_memory=8 << 30, sandbox_processes=64, sandbox_tmp=16 * MIB, sandbox_disk=64 * MIB,
                    sandbox_files=1000, sandbox_disk_reserve=0, sandbox_exec_timeout=3)
    server.environment["HOST_SECRET"] = SECRET
    server.start()
    yield server
    assert server.stop() == 0
    server.start()  # empties the trash
    trash = server.settings["data_dir"] / "workspaces" / ".trash"
    eventually(lambda: list(trash.iterdir()), lambda left: not left)
    assert server.stop() == 0
    report = server.process.sanitizer_report()
    assert not report, report


# ---- The three ways ----

# The time of a cell is the server's. A shorter one is its own, and then the whole process ends with what it started.
CELL = """import os, subprocess
try:
    subprocess.run(['bash', '-c', {script!r}], timeout={seconds})
except subprocess.TimeoutExpired:
    os._exit(1)
"""


def call_of(way, script, seconds=SHORT):
    milliseconds = int(1000 * seconds)
    if way == "python":
        return call("python", code=CELL.format(script=script, seconds=seconds))
    if way == "bash":
        return call("bash", command=f"bash -c {shlex.quote(script)}", timeout=milliseconds)
    return call("shell", commands=[script], timeout_ms=milliseconds)


class Way:
    """Commands of a model in a container of its own."""

    def __init__(self, server, upstream, way, key=""):
        self.client, self.upstream, self.way = server.sdk(), upstream, way
        self.container = self.client.containers.create(name=f"{way} {key}").id
        self.tools = [CODE, {"type": "code_interpreter", "container": self.container},
                      {"type": "shell", "environment": {"type": "container_reference", "container_id": self.container}}]
        self.folder = next(pathlib.Path(server.settings["data_dir"]).glob(f"workspaces/*/{self.container}/data"))

    def name(self, key):
        return f"{self.way} {self.container} {key}"

    def rules(self, key, *calls):
        """What the model does when it is asked for that. bash has the container of a call before."""
        turns = [[call("shell", commands=["true"])]] * (self.way != "shell") + [
            each if isinstance(each, list) else [each] for each in calls]
        rules, count, said = [], 0, {"equals": self.name(key)}
        for turn in turns:
            numbered = [{**each, "id": f"call_{count + n}"} for n, each in enumerate(turn)]
            rules.append({"match": {"user": said, "tool_results": count or False}, "answer": {"tool_calls": numbered}})
            count += len(turn)
        return [*rules, {"match": {"user": said}, "answer": {"text": "Done."}}]

    def run(self, key):
        """What the model reads of its calls. A person says yes to each."""
        said, before = self.name(key), None
        while said:
            response = self.client.responses.create(model="demo", input=said, tools=self.tools, previous_response_id=before)
            assert response.status == "completed", response.to_dict()
            before = response.id
            said = [{"type": "mcp_approval_response", "approval_request_id": item.id, "approve": True}
                    for item in response.output if item.type == "mcp_approval_request"]
        assert response.output_text == "Done.", response.to_dict()
        texts = [chat["messages"] for chat in self.upstream.chats()
                 if any(m["role"] == "user" and m["content"] == self.name(key) for m in chat["messages"])]
        found = [m["content"] for m in texts[-1] if m["role"] == "tool"]
        return found if self.way == "shell" else found[1:]


def each_way(server, upstream, *keys_and_calls):
    """Runs the same through all ways at once: {way: [[outputs of a key], ...]}."""
    ways = [Way(server, upstream, way) for way in WAYS]
    upstream.forget()
    upstream.script(*[rule for way in ways for key, calls in keys_and_calls for rule in way.rules(key, *calls(way.way))])
    with ThreadPoolExecutor(len(ways)) as pool:
        runs = {way: pool.submit(lambda way=way: [way.run(key) for key, _ in keys_and_calls]) for way in ways}
        return {way: run.result() for way, run in runs.items()}


def test_what_a_program_tries_in_vain_is_tried_in_vain_through_every_way(walls, upstream, host, binary):
    tries = (binary.parent / "tests" / "unit" / "box_tries").read_bytes()
    ways = [Way(walls, upstream, way) for way in WAYS]
    # From a folder of the system, so that only its own processes are counted.
    script = f"./tries {host.secret} {host.port} {host.name} {host.file}"
    for way in ways:
        way.client.containers.files.create(way.container, file=("tries", tries))
    rules = [rule for way in ways for rule in way.rules("tries", call_of(way.way, f"chmod 700 tries; {script}", LONG))]
    upstream.script(*rules)
    with ThreadPoolExecutor(len(ways)) as pool:
        outputs = list(pool.map(lambda way: way.run("tries")[0], ways))
    for way, output in zip(ways, outputs):
        text = json.loads(output)[0]["stdout"] if way.way == "shell" else output
        rows = re.findall(r"^(\d+) (.*): (refused|WORKED)$", text, re.M)
        assert len(rows) >= 56, output
        # A command has more processes here than alone: row 47 counts them.
        assert [each for each in rows if each[2] != "refused" and each[0] != "47"] == [], way.way
    host.assert_unchanged()


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_no_command_harms_more_than_its_box(walls, upstream, host):
    asks = [(f"{n}", lambda way, c=c: [call_of(way, c.script, c.seconds), call_of(way, AFTER, LONG)])
            for n, c in enumerate(COMMANDS)]
    for way, runs in each_way(walls, upstream, *asks).items():
        for command, (output, after) in zip(COMMANDS, runs):
            assert re.search(command.ends, output), (way.way, command, output[-2000:])
            assert "alive 0" in after, (way.way, command, after)
        used = sum(path.lstat().st_blocks * 512 for path in way.folder.rglob("*"))
        assert used < 64 * MIB, way.way
        owner = way.folder.stat().st_uid
        way.client.containers.delete(way.container)
        if os.geteuid() == 0:
            eventually(lambda owner=owner: not processes_of(owner))
    assert walls.http().get("/healthz").status_code == 200
    host.assert_unchanged()


def test_other_runs_complete_beside_them(walls, upstream):
    """A fork bomb, memory, a full disk, endless output and loops, all at once."""
    bad = [c for c in COMMANDS if c.number in (44, 55, 58, 61, 64)]
    boxes = [Way(walls, upstream, "shell", c.what) for c in bad]
    good = Way(walls, upstream, "shell", "good")
    rules = [rule for box, c in zip(boxes, bad) for rule in box.rules("bad", call_of("shell", c.script, 3))]
    upstream.script(*rules, *good.rules("good", call("shell", commands=["echo fine"])), {"answer": {"text": "Hello."}})
    with ThreadPoolExecutor(20) as pool:
        ending = [pool.submit(box.run, "bad") for box in boxes]
        texts = [pool.submit(good.client.responses.create, model="demo", input=f"hi {n}") for n in range(40)]
        tools = [pool.submit(good.run, "good") for _ in range(8)]
        assert {each.result().output_text for each in texts} == {"Hello."}
        assert all("fine" in each.result()[0] for each in tools)
        assert all(each.result() for each in ending)
    for box in [*boxes, good]:
        box.client.containers.delete(box.container)


def processes_of(uid):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == uid:
                found.append((path / "cmdline").read_bytes())
        except OSError:
            pass
    return found


# ---- Rows that need the server ----

@pytest.fixture
def box(walls, upstream):
    return Way(walls, upstream, "shell", "row")


def shell(box, *commands, seconds=LONG):
    """What they print, in one call."""
    box.upstream.forget()
    box.upstream.script(*box.rules("row", call("shell", commands=list(commands), timeout_ms=int(1000 * seconds))))
    return [f"{one['stdout']}{one['stderr']}" for one in json.loads(box.run("row")[0])]


def code(box, *calls):
    """What tools of the group code say, in the container of a shell."""
    box.upstream.forget()
    box.upstream.script(*box.rules("row", call("shell", commands=["true"]), *calls))
    return box.run("row")[1:]


RACE = """
mkdir -p a; echo inside > a/secret; cp -r a b
while :; do ln -sfn {away} x; rm -f x; mv a x; mv x a; ln b/secret y 2>/dev/null; rm -f y; ln -s {away}/secret y; rm -f y; done &
"""


@row(8, 9)
def test_no_race_leads_a_file_tool_out(box, host):
    shell(box, RACE.format(away=host.secret.parent))
    names = ["x/secret", "y"] * 5
    results = code(box, [call("read", file_path=name) for name in names],
                [call("write", file_path=name, content="written") for name in names])
    assert len(results) == 20 and SECRET not in "".join(results)
    assert host.secret.read_text() == SECRET
    box.client.containers.delete(box.container)
    host.assert_unchanged()


@row(10, 12)
def test_what_is_no_plain_file_is_not_read(box):
    shell(box, "mkfifo fifo; truncate -s 60M sparse; truncate -s 1T large 2>&1")
    fifo, sparse, grep = code(box, call("read", file_path="fifo"), call("read", file_path="sparse"),
                              call("grep", pattern="root", path="/"))
    assert "fifo" in fifo and len(sparse) < 100000 and "root:" not in grep
    assert not (box.folder / "large").exists() or (box.folder / "large").stat().st_size <= 64 * MIB


@row(13)
def test_a_deep_folder_is_removed(box, walls):
    shell(box, "python3 -c 'import os\nfor n in range(900): os.mkdir(\"d\"); os.chdir(\"d\")'")
    assert "limit" not in code(box, call("glob", pattern="**"))[0]
    box.client.containers.delete(box.container)
    assert not box.folder.exists()  # the end of the server looks at the trash


@row(14, 23)
def test_odd_names_are_names(box, host, walls):
    shell(box, f"""
touch "$(printf 'n%.0s' $(seq 255))" $'line\\nline' $'\\377\\376' .runnel .incoming .trash
ln -s {host.secret.parent} .figures""")
    assert "nnnn" in code(box, call("glob", pattern="*"))[0]
    listed = [file.path for file in box.client.containers.files.list(box.container)]
    assert any("n" * 255 in path for path in listed)
    box.upstream.script(*box.rules("plot", call("python", code="import matplotlib.pyplot as p\np.plot([1])\np.show()")))
    box.run("plot")
    assert sorted(path.name for path in host.secret.parent.iterdir()) == ["secret", "socket"]
    host.assert_unchanged()


@row(15, 80)
def test_what_was_shown_is_what_is_done(box, walls, host):
    """A file that became a link out meanwhile is not changed. An approval is for the text of a script that was shown."""
    shell(box, f"echo {SECRET} > plan")
    edit = call("edit", file_path="plan", old_string=SECRET, new_string="changed")
    box.upstream.script(*box.rules("plan", call("shell", commands=["true"]), call("read", file_path="plan"), edit))
    tools = [{**CODE, "require_approval": "always"}, *box.tools[1:]]
    response = box.client.responses.create(model="demo", input=box.name("plan"), tools=tools)

    def answered(response):
        questions = [item.id for item in response.output if item.type == "mcp_approval_request"]
        return box.client.responses.create(model="demo", tools=tools, previous_response_id=response.id, input=[
            {"type": "mcp_approval_response", "approval_request_id": each, "approve": True} for each in questions])
    response = answered(response)
    (question,) = [item for item in response.output if item.type == "mcp_approval_request"]
    assert "+changed" in question.runnel["preview"]["diff"]
    (box.folder / "plan").unlink()
    (box.folder / "plan").symlink_to(host.secret)
    (done,) = [item for item in answered(response).output if item.type == "mcp_call"]
    assert done.error and SECRET not in json.dumps(done.to_dict()["error"])
    host.assert_unchanged()

    http = walls.http()
    put = {"name": "swapped", "source": "def f(): return 'shown'"}
    made = http.post("/v1/runnel/scripts", json=put).json()
    tools = [{"type": "mcp", "server_label": "w", "server_url": f"script:{made['id']}", "require_approval": "always"}]
    box.upstream.script(*box.rules("script", call("f")))
    response = box.client.responses.create(model="demo", input=box.name("script"), tools=tools)
    http.post("/v1/runnel/scripts", json={**put, "source": "def f(): return 'swapped'"})
    response = answered(response)
    # Another text is another function, which needs an approval of its own.
    assert [item.type for item in response.output] == ["mcp_approval_request"]
    assert json.loads(http.get(f"/v1/runnel/approvals/{response.output[0].id}").text)["status"] == "pending"


@row(18)
def test_a_folder_that_became_a_link_is_not_mounted(box, host):
    box.folder.rmdir()
    box.folder.symlink_to(host.secret.parent)
    try:
        box.upstream.script(*box.rules("link", call("shell", commands=["cat /mnt/data/secret"])))
        assert SECRET not in "".join(box.run("link"))
    finally:
        box.folder.unlink()


@row(19, 20)
def test_no_trick_of_a_zip_is_unpacked(walls, host):
    head = "---\nname: notes\ndescription: d\n---\nText.\n"
    link = zipfile.ZipInfo("a/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    for more in ([("../x", "x")], [("/etc/x", "x")], [(link, "/etc/passwd")], [("a/skill.md", head)],
                 [("a/bomb", b"0" * (12 << 20))]):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as made:
            for name, data in [("a/SKILL.md", head), *more]:
                made.writestr(name, data)
        answer = walls.http().post("/v1/skills", files={"files": ("a.zip", whole.getvalue(), "application/zip")})
        assert answer.status_code == 400 and answer.json()["error"]["param"] == "files", more
    host.assert_unchanged()


@row(22)
def test_a_container_of_another_project_is_unknown(walls, upstream, box):
    stranger = walls.sdk().with_options(api_key=walls.new_key("strangers"))
    for tool in box.tools[1:]:
        with pytest.raises(openai.NotFoundError):
            stranger.responses.create(model="demo", input="go", tools=[tool])
    with pytest.raises(openai.NotFoundError):
        stranger.containers.files.list(box.container)


@row(61)
def test_a_client_that_does_not_read_is_waited_for(walls, upstream, box):
    """The program waits with it: the server keeps nothing. Others go on."""
    upstream.script(*box.rules("flood", call("shell", commands=["yes"], timeout_ms=30000)))
    body = json.dumps({"model": "demo", "input": box.name("flood"), "tools": box.tools, "stream": True}).encode()
    with socket.create_connection(("127.0.0.1", walls.port)) as reader:
        reader.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "
                       + walls.settings["api_key"].encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert reader.recv(1)
        pid = walls.process.child.pid
        eventually(lambda: 'runnel_boxes{state="busy"} 1' in walls.http().get("/metrics").text)
        before = resident(pid)
        other = Way(walls, upstream, "shell", "other")
        upstream.script(*other.rules("row", *[call("shell", commands=["head -c 1M /dev/zero | wc -c"])] * 3))
        assert len(other.run("row")) == 3
        assert resident(pid) < before + patience(64 * MIB)
    box.client.containers.delete(box.container)


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


@row(65)
def test_the_reserve_of_the_disk_stays(start_server, upstream):
    server = start_server(sandbox_disk_reserve=1 << 40)
    box = Way(server, upstream, "shell", "reserve")
    written = code(box, call("write", file_path="a", content="x"))[0]
    assert "no disk space" in written
    assert "workspace is full" in shell(box, "for i in $(seq 40); do head -c 1M /dev/zero > f$i; sleep 0.2; done")[0]


PROXY = """
for url in {urls}; do curl -s -o /dev/null -w '%{{http_code}} %{{errormsg}}\\n' -x http://127.0.0.1:3128 --noproxy '' -m 20 $url; done
for to in 127.0.0.1/{port} 169.254.169.254/80 192.0.2.1/443; do (exec 3<>/dev/tcp/$to) 2>/dev/null && echo reached; done
for head in 'GET http://localhost/ HTTP/1.1\\nHost: evil\\n\\n' \\
    'POST http://localhost/ HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' \\
    'GET http://localhost/ HTTP/1.1\\r\\nHost: a.example.org\\r\\n\\r\\n'; do
  for try in 1 2 3; do # an early refusal may reset the connection, and its answer is lost
    status=$( (exec 3<>/dev/tcp/127.0.0.1/3128; printf "$head" >&3; head -1 <&3 | cut -c10-12) 2>/dev/null )
    [ -n "$status" ] && break
  done
  echo "$status"
done
"""


@row(68, 69, 70, 71, 76)
def test_the_proxy_leads_to_what_is_allowed_only(walls, upstream, host):
    box = Way(walls, upstream, "shell", "proxy")
    box.container = box.client.containers.create(name="proxy", network_policy={
        "type": "allowlist", "allowed_domains": ["localhost", "*.example.org"]}).id
    box.tools = [{"type": "shell", "environment": {"type": "container_reference", "container_id": box.container}}]
    urls = ["http://169.254.169.254/", f"http://127.0.0.1:{host.port}/", f"http://2130706433:{host.port}/",
            f"http://[::ffff:127.0.0.1]:{host.port}/", "http://evilexample.org/", "http://localhost/",
            *[f"http{s}://localhost:{port}/" for s in ("", "s") for port in (22, 5432, walls.port)]]
    lines = shell(box, PROXY.format(urls=" ".join(f"'{url}'" for url in urls), port=host.port))[0].splitlines()
    assert len(lines) == len(urls) + 3, lines
    for url, line in zip(urls, lines):
        assert "403" in line, (url, line)
    assert lines[-3:] == ["400", "411", "400"]
    host.assert_unchanged()


@row(78)
def test_containers_side_by_side_see_nothing_of_each_other(walls, upstream):
    one, other = (Way(walls, upstream, "shell", name) for name in ("one", "other"))
    shell(one, "echo mine-and-no-others > marker-file; (exec -a marker-process sleep 987) & cp marker-file /tmp /dev/shm")
    found = shell(other, f"ls -d /mnt/* /mnt/data/* /tmp/* /dev/shm/* {one.folder} /mnt/data/../*/{one.container} 2>/dev/null",
                  "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", f"cat {one.folder}/marker-file")
    assert "marker" not in found[0] and one.container not in found[0] and "marker-process" not in found[1]
    assert "mine-and-no-others" not in found[2]


def family(pid):
    """A process and its descendants: [(pid, name, generation)]."""
    found, at = [(pid, "runnel", 0)], 0
    while at < len(found):
        parent, _, generation = found[at]
        at += 1
        for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids = [int(each) for each in task.read_text().split()]
            except OSError:
                continue
            for child in pids:
                try:
                    found.append((child, pathlib.Path(f"/proc/{child}/comm").read_text().strip(), generation + 1))
                except OSError:
                    pass
    return found


@row(79)
@pytest.mark.parametrize("victim", ["zygote", "spawner", "bwrap", "first", "supervisor", "server"])
def test_a_killed_process_leaves_nothing_running(start_server, upstream, victim):
    server = start_server()
    box = Way(server, upstream, "shell", victim)
    upstream.script(*box.rules("kill", call("shell", commands=["touch begun; setsid sleep 9871 & exec sleep 9871"])))
    sleeping = threading.Thread(target=lambda: response_of(box, "kill"))
    sleeping.start()
    eventually((box.folder / "begun").exists)
    pid = server.process.child.pid
    tree = eventually(lambda: family(pid), lambda tree: sum(name == "sleep" for _, name, _ in tree) == 2)
    boxes = [(each, name, depth) for each, name, depth in tree if depth >= 3]
    chosen = {"server": pid, "zygote": tree[1][0], "spawner": next(p for p, _, d in tree if d == 2),
              "bwrap": next(p for p, name, _ in tree if name == "bwrap"),
              "first": next(p for p, _, d in tree if d == 4), "supervisor": next(p for p, _, d in tree if d == 5)}[victim]
    os.kill(chosen, signal.SIGKILL)
    if victim == "zygote":
        os.kill(next(p for p, _, d in tree if d == 2), signal.SIGKILL)
    sleeping.join(patience(30))
    assert not sleeping.is_alive()
    eventually(lambda: [each for each in boxes if is_sleep(each[0])], lambda left: not left)
    if victim == "server":
        server.process.child.wait()
        server.start()
    assert (box.folder / "begun").exists()
    if victim != "zygote":
        upstream.script(*box.rules("again", call("shell", commands=["echo again"])))
        assert "again" in box.run("again")[0]
    box.client.containers.delete(box.container)
    assert not box.folder.exists()


def is_sleep(pid):
    try:
        return b"sleep\0009871" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def response_of(box, key):
    """Any end will do."""
    try:
        return box.client.responses.create(model="demo", input=box.name(key), tools=box.tools)
    except openai.APIError:
        return None
