"""Network policies of containers: what the proxy lets out of a box, what it refuses, and what a request may ask for.

The site outside listens on loopback, so the operator opens "localhost" at its port. Everything else that runs on this
machine stays closed, by any of its names."""

import http.server
import subprocess
import threading

import pytest

from harness.patience import patience
from harness.process import clean_environment
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call

SECRETS = [{"domain": "localhost", "name": "KEY", "value": "s3cret"}]
ALLOWED = {"type": "allowlist", "allowed_domains": ["localhost"]}
NONE = "Unsupported value: containers of this server have no network."

# What code tries: the answer, or the refusal. Names of the box itself are usually asked for without the proxy.
FETCH = """
import os, urllib.request, urllib.error
for name in ("no_proxy", "NO_PROXY"):
    del os.environ[name]
def fetch(url, data=None):
    try:
        return urllib.request.urlopen(url, data, timeout=20).read().decode()
    except urllib.error.HTTPError as e:
        return f"{e.code} {e.reason}"
    except OSError as e:
        return str(e.reason if hasattr(e, "reason") else e)
"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        self.server.asked.append((self.path, dict(self.headers)))
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/inside")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello " + body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def networked(start_server, site, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(f'network: {{allow_internal_hosts: ["localhost:{site.server_port}"]}}\n'
                      'sandbox: {network: {allowed_domains: [localhost, "*.example.org", internal.example.net]}}\n')
    return start_server(config=config)


def shell(policy=ALLOWED):
    return {"type": "shell", "environment": {"type": "container_auto", "network_policy": policy}}


def run(client, upstream, *commands, tool=None, name="shell", **body):
    arguments = {"commands": list(commands)} if name == "shell" else {"code": commands[0]}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call(name, **arguments)]}})
    return client.responses.create(model="demo", input="go", tools=[tool or shell()], **body)


def printed(response):
    output = next(item for item in response.output if item.type == "shell_call_output")
    return [entry.stdout + entry.stderr for entry in output.output]


def python(code):
    return f"python3 - <<'END'\n{FETCH}\n{code}\nEND"


def network_of(response, kind="shell_call_output"):
    (item,) = [item for item in response.output if item.type == kind]
    return (item.runnel.get("metadata") or {}).get("network")


def test_code_reaches_an_allowed_domain_and_the_call_lists_it(networked, upstream, site):
    url = f"http://localhost:{site.server_port}"
    response = run(networked.sdk(), upstream,
                   python(f"print(fetch('{url}/a'))\nprint(fetch('{url}/b', b'body'))"),
                   python(f"""
import http.client
tunnel = http.client.HTTPConnection("127.0.0.1", 3128)
tunnel.set_tunnel("localhost", {site.server_port})
tunnel.request("GET", "/tunnel")
print(tunnel.getresponse().read().decode())"""), "env | grep -ci _proxy=http")
    assert printed(response) == ["hello \nhello body\n", "hello \n", "6\n"]
    assert [path for path, _ in site.asked] == ["/a", "/b", "/tunnel"]
    assert site.asked[0][1]["Host"] == f"localhost:{site.server_port}"
    (place,) = network_of(response)
    assert (place["host"], place["port"], place["verdict"], place["connections"]) == (
        "localhost", site.server_port, "allowed", 3) and place["bytes"] > 100
    metrics = networked.http().get("/metrics").text
    assert 'runnel_proxy_connections_total{verdict="allowed"} 3' in metrics


def test_the_code_interpreter_reaches_it_too(networked, upstream, site):
    code = f"{FETCH}\nfetch('http://localhost:{site.server_port}/a')"
    response = run(networked.sdk(), upstream, code, name="python", include=["code_interpreter_call.outputs"],
                   tool={"type": "code_interpreter", "container": {"type": "auto", "network_policy": ALLOWED}})
    (item,) = [item for item in response.output if item.type == "code_interpreter_call"]
    assert item.outputs[0].logs == "'hello '\n"
    assert [p["verdict"] for p in network_of(response, "code_interpreter_call")] == ["allowed"]


def test_nothing_else_is_reached(networked, upstream, site):
    """Rows 66 to 71 and 76 of the list of tries, through the proxy and beside it."""
    port = site.server_port
    tries = [f"http://127.0.0.1:{port}/", f"http://[::1]:{port}/", f"http://[::ffff:127.0.0.1]:{port}/",
             f"http://2130706433:{port}/", f"http://0x7f000001:{port}/", "http://169.254.169.254/latest/meta-data/",
             "http://evillocalhost/", "http://evilexample.org/", "http://example.org/", f"http://localhost:{port}/away"]
    ports = [22, 5432, networked.port]
    code = "\n".join([f"for url in {tries!r}: print(fetch(url))",
                      f"for port in {ports!r}: print(fetch(f'http://localhost:{{port}}/'))",
                      "print(fetch('http://localhost/'))"])
    (text, direct) = printed(run(networked.sdk(), upstream, python(code), f"""
for to in 127.0.0.1/{port} 127.0.0.1/{networked.port} 1.1.1.1/443 169.254.169.254/80; do
  (exec 3<>/dev/tcp/$to) 2>/dev/null && echo reached $to
done; echo end"""))
    lines = text.splitlines()
    listed = "is not in the container's allowed domains: localhost"
    hosts = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "169.254.169.254",
             "evillocalhost", "evilexample.org", "example.org", "127.0.0.1"]
    assert lines[:10] == [f"403 {host} {listed}" for host in hosts]
    assert lines[10:13] == [f"403 Port {p} of localhost cannot be reached: only 80 and 443 can." for p in ports]
    assert lines[13] == "403 localhost is not on the public internet."
    assert direct == "end\n"
    assert [path for path, _ in site.asked] == ["/away"]


@pytest.mark.parametrize("head, status", [
    ("GET http://localhost:{port}/ HTTP/1.1\\nHost: evil\\n\\n", 400),
    ("GET http://localhost:{port}/ HTTP/1.1\\r\\nHost: evil.org\\r\\n\\r\\n", 400),
    ("POST http://localhost:{port}/ HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n", 411),
    ("POST http://localhost:{port}/ HTTP/1.1\\r\\nContent-Length: 0\\r\\nContent-Length: 9\\r\\n\\r\\n", 400),
    ("CONNECT localhost:{port} HTTP/1.1\\r\\nHost: localhost\\r\\n x\\r\\n\\r\\n", 400),
])
def test_a_request_with_two_meanings_is_refused(networked, upstream, site, head, status):
    head = head.format(port=site.server_port)
    (text,) = printed(run(networked.sdk(), upstream,
                          f"trap '' PIPE; exec 3<>/dev/tcp/127.0.0.1/3128; printf '{head}' >&3 2>/dev/null; head -1 <&3"))
    assert text.startswith(f"HTTP/1.1 {status} ") and site.asked == []


def test_a_container_without_a_policy_has_no_proxy(networked, upstream, site):
    for policy in ({"type": "disabled"}, None):
        tool = shell(policy)
        if policy is None:
            del tool["environment"]["network_policy"]
        response = run(networked.sdk(), upstream, "env | grep -ci _proxy=; (exec 3<>/dev/tcp/127.0.0.1/3128) 2>&1",
                       tool=tool)
        assert printed(response)[0].startswith("0\n") and "refused" in printed(response)[0]
        assert network_of(response) is None


def test_a_container_keeps_its_policy_and_shows_it(networked, upstream, site):
    client = networked.sdk()
    made = client.containers.create(name="net", network_policy={"type": "allowlist", "allowed_domains": ["LocalHost"]})
    assert made.network_policy.to_dict() == {"type": "allowlist", "allowed_domains": ["LocalHost"]}
    assert client.containers.retrieve(made.id).network_policy.to_dict() == made.network_policy.to_dict()
    response = run(client, upstream, python(f"print(fetch('http://localhost:{site.server_port}/'))"),
                   tool={"type": "shell", "environment": {"type": "container_reference", "container_id": made.id}})
    assert printed(response) == ["hello \n"]


def test_another_policy_makes_another_container(networked, upstream):
    client = networked.sdk()

    def container(tool, **body):
        response = run(client, upstream, "true", tool=tool, **body)
        return response.id, next(i for i in response.output if i.type == "shell_call").environment.container_id

    said, unsaid = shell(), shell()
    del unsaid["environment"]["network_policy"]
    first, one = container(said)
    second, again = container(said, previous_response_id=first)
    third, unsaid_too = container(unsaid, previous_response_id=second)
    _, other = container(shell({"type": "disabled"}), previous_response_id=third)
    assert one == again == unsaid_too != other


def test_the_operator_closes_what_was_open(start_server, upstream, site, tmp_path):
    config = tmp_path / "runnel.yaml"
    opened = f'network: {{allow_internal_hosts: ["localhost:{site.server_port}"]}}\n'
    config.write_text(opened + "sandbox: {network: {allowed_domains: [localhost, example.org]}}\n")
    server = start_server(config=config)
    made = server.sdk().containers.create(name="net", network_policy={
        "type": "allowlist", "allowed_domains": ["localhost", "example.org"]})
    config.write_text(opened + "sandbox: {network: {allowed_domains: [example.org]}}\n")
    assert server.stop() == 0
    server.start()
    response = run(server.sdk(), upstream, python(f"print(fetch('http://localhost:{site.server_port}/'))"),
                   tool={"type": "shell", "environment": {"type": "container_reference", "container_id": made.id}})
    assert printed(response) == ["403 localhost is not in the container's allowed domains: example.org\n"]


def test_processes_that_a_call_leaves_behind_end_with_the_box(networked, upstream, site):
    """The listener is the server's, but what runs in the box is not kept alive by it."""
    client = networked.sdk()
    made = client.containers.create(name="net", network_policy=ALLOWED)
    run(client, upstream, "sleep 600 &",
        tool={"type": "shell", "environment": {"type": "container_reference", "container_id": made.id}})
    client.containers.delete(made.id)
    eventually(lambda: 'runnel_boxes{state="ready"} 0' in networked.http().get("/metrics").text)


@pytest.mark.parametrize("policy, code, param, message", [
    ({"type": "allowlist"}, "missing_required_parameter", "network_policy.allowed_domains",
     "Missing required parameter: 'network_policy.allowed_domains'."),
    ({"type": "allowlist", "allowed_domains": []}, "invalid_value", "network_policy.allowed_domains",
     "Invalid 'network_policy.allowed_domains': expected at least one domain."),
    ({"type": "allowlist", "allowed_domains": ["localhost", "evilexample.org"]}, "invalid_value",
     "network_policy.allowed_domains[1]",
     "Invalid value: 'evilexample.org'. Containers of this server may reach: localhost, *.example.org, "
     "internal.example.net."),
    ({"type": "allowlist", "allowed_domains": ["*.example.net"]}, "invalid_value", "network_policy.allowed_domains[0]",
     "Invalid value: '*.example.net'. Containers of this server may reach: localhost, *.example.org, "
     "internal.example.net."),
    *[({"type": "allowlist", "allowed_domains": [bad]}, "invalid_value", "network_policy.allowed_domains[0]",
       f"Invalid value: '{bad}'. Expected a host name such as 'example.com', or '*.example.com' for all names below it.")
      for bad in ("http://a.example.org", "a.example.org:443", "a.example.org/x", "127.0.0.1", "*", "")],
    ({**ALLOWED, "domain_secrets": SECRETS}, "unsupported_value", "network_policy.domain_secrets",
     "Unsupported value: this server cannot put secrets into requests of a container, because most of them are "
     "encrypted."),
    ({"type": "open"}, "invalid_value", "network_policy.type", None),
])
def test_a_policy_that_cannot_be_is_refused(networked, policy, code, param, message):
    http = networked.http()
    for path, body in (
            ("", {"name": "n", "network_policy": policy}),
            ("tools[0].environment.", shell(policy)),
            ("tools[0].container.", {"type": "code_interpreter", "container": {"type": "auto",
                                                                               "network_policy": policy}})):
        answer = (http.post("/v1/containers", json=body) if not path else
                  http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [body]}))
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (400, code, path + param), error
        if message:
            assert error["message"] == message.replace("network_policy.allowed", f"{path}network_policy.allowed")


def test_without_the_operators_list_every_policy_is_refused(http):
    answer = http.post("/v1/containers", json={"name": "n", "network_policy": ALLOWED})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"], error["param"], error["message"]) == (
        400, "invalid_request_error", "unsupported_value", "network_policy.type", NONE)


@pytest.mark.parametrize("domain", ["http://a", "127.0.0.1", "*", "a:80"])
def test_a_setting_that_is_no_domain_is_refused(binary, tmp_path, domain):
    config = tmp_path / "runnel.yaml"
    config.write_text(f'sandbox: {{network: {{allowed_domains: ["{domain}"]}}}}\n')
    done = subprocess.run([binary, "serve", "--config", str(config)], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(60), check=False)
    assert done.returncode == 2 and "sandbox.network.allowed_domains[0]: expected a host name" in done.stderr


def test_a_program_of_a_repository_has_no_network_unasked(networked, upstream):
    client = networked.sdk()
    tries = ("import socket\n"
             "s = socket.socket()\nprint('OPEN' if s.connect_ex(('127.0.0.1', 3128)) == 0 else 'CLOSED')\n")
    made = run(client, upstream,
               f"cat > try.py <<'END'\n{tries}END\nprintf '#!/bin/sh\\npython3 /mnt/data/try.py\\n' > try.sh; chmod +x try.sh",
               "git init -q . && echo one > a && git add a && git -c user.name=a -c user.email=a@b commit -qm a && "
               "echo two > a && git config diff.external /mnt/data/try.sh && git diff")
    assert "OPEN" in printed(made)[1], printed(made)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("bash", command="git diff")]}})
    code = {"type": "mcp", "server_label": "code", "server_url": "builtin:code"}
    response = client.responses.create(model="demo", input="go", tools=[code], previous_response_id=made.id)
    (item,) = [item for item in response.output if item.type == "mcp_call"]
    assert item.output.strip() == "CLOSED", item
