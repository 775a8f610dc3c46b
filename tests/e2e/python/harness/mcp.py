"""MCP servers over streamable HTTP as tests script them: each has a path of one small HTTP server."""

import base64
import http.server
import json
import queue
import threading
import uuid

from .patience import patience
from .process import free_port

VERSION = "2025-06-18"
STATELESS = "2026-07-28"
RESERVED = "io.modelcontextprotocol/"
METHOD_NOT_FOUND, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32601, -32020, -32022
NO_ARGUMENTS = {"type": "object", "properties": {}}
TEXT_ARGUMENT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def tool(name, description="", schema=None, **more):
    return {"name": name, "description": description, "inputSchema": schema or NO_ARGUMENTS, **more}


def text(*lines, **more):
    return {"content": [{"type": "text", "text": line} for line in lines], **more}


def decoded(value):
    """What a header says that may be encoded."""
    if value and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


class World:
    """One MCP server. `tools` maps a tool to its result, or to a function of the arguments.
    `on(method, function)` takes a request over: function(handler, message) writes its own answer."""

    def __init__(self, tools=(), sessions=True, version=VERSION, stream=False, page=None, older=None,
                 beside=None, capabilities=None, stateless=False):
        """`stateless`: it speaks 2026-07-28 and nothing else, and refuses what breaks a rule of that.
        `older`: what a stream of the transport of 2024-11-05 names as its endpoint, {session} in it.
        `beside`: other methods than those of tools, and what they give: a result, or a function of the
        parameters. Their first words are capabilities, unless those are given."""
        self.beside = beside or {}
        self.capabilities = capabilities or {
            "tools": {}, **{method.partition("/")[0]: {} for method in self.beside}}
        self.older, self.streams = older, {}
        sessions = sessions and not older and not stateless
        self.stateless = stateless
        self.tools = {t["name"]: (t, gives) for t, gives in tools}
        self.sessions, self.version, self.stream, self.page = sessions, version, stream, page
        self.overrides = {}
        self.open = set()
        self.requests = []  # (HTTP method, headers, message)
        self.changed = threading.Condition()

    def on(self, method, function):
        self.overrides[method] = function
        return self

    def note(self, method, headers, message):
        with self.changed:
            self.requests.append((method, headers, message))
            self.changed.notify_all()

    def messages(self, method):
        return [m for _, _, m in self.requests if m and m.get("method") == method]

    def headers(self, method):
        return [h for _, h, m in self.requests if m and m.get("method") == method]

    def wait(self, condition, timeout=patience(60)):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), timeout), self.requests
        return self

    def result(self, message):
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            return {"protocolVersion": self.version, "capabilities": self.capabilities,
                    "serverInfo": {"name": "scripted", "version": "1"}}
        if method == "server/discover":
            return {"supportedVersions": [STATELESS], "capabilities": self.capabilities}
        if method in self.beside:
            gives = self.beside[method]
            return gives(params) if callable(gives) else gives
        if method == "tools/list":
            return self.list(params)
        assert method == "tools/call", method
        gives = self.tools[params["name"]][1]
        return gives(params["arguments"]) if callable(gives) else gives

    def list(self, params):
        every = [t for t, _ in self.tools.values()]
        if not self.page:
            return {"tools": every}
        start = int(params.get("cursor", 0))
        more = {"nextCursor": str(start + self.page)} if start + self.page < len(every) else {}
        return {"tools": every[start:start + self.page], **more}


    def complaint(self, headers, message):
        """(code, words) for a request that breaks a rule of 2026-07-28, or None."""
        method, params = message["method"], message.get("params", {})
        meta = params.get("_meta", {})
        version = meta.get(RESERVED + "protocolVersion")
        named = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}.get(method)
        said = {"MCP-Protocol-Version": version, "Mcp-Method": method}
        if named:
            said["Mcp-Name"] = params[named]
        if method == "tools/call":
            schema = self.tools[params["name"]][0]["inputSchema"]
            for name, marked in schema.get("properties", {}).items():
                if "x-mcp-header" in marked:
                    value = params["arguments"].get(name)
                    said["Mcp-Param-" + marked["x-mcp-header"]] = (
                        value if value is None or isinstance(value, str) else json.dumps(value))
        for header, value in said.items():
            if decoded(headers.get(header)) != value:
                return HEADER_MISMATCH, f"{header} is not {value}"
        if version != STATELESS:
            return UNSUPPORTED_VERSION, "Unsupported protocol version"
        if not isinstance(meta.get(RESERVED + "clientCapabilities"), dict) or headers.get("Mcp-Session-Id"):
            return -32602, "_meta"
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def world(self):
        return self.server.worlds.get(self.path.partition("?")[0])

    def plain(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def answer(self, message, result=None, error=None, status=200, **headers):
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply.update({"error": error} if error else {"result": result})
        self.plain(status, json.dumps(reply).encode(), **headers)

    def take_stateless(self, message):
        world, method = self.world, message.get("method")
        complaint = world.complaint(self.headers, message)
        known = method in world.beside or method in ("server/discover", "tools/list", "tools/call")
        if complaint or not known:
            code, words = complaint or (METHOD_NOT_FOUND, "Method not found")
            self.answer(message, error={"code": code, "message": words, "data": {"supported": [STATELESS]}},
                        status=400 if complaint else 404)
            return
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **world.result(message)}
        if world.stream:
            self.events({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.answer(message, result)

    def events(self, *messages, end=True):
        """An answer as a stream, of messages or pairs (id, message)."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for message in messages:
            number, message = message if isinstance(message, tuple) else (None, message)
            body = message if isinstance(message, str) else json.dumps(message)
            if number:
                self.wfile.write(f"id: {number}\n".encode())
            self.wfile.write(f"event: message\ndata: {body}\n\n".encode())
            self.wfile.flush()

    def wait_for_leave(self):
        """Sends nothing until the client has left."""
        self.close_connection = True
        try:
            while self.rfile.read1(1024):
                pass
        except OSError:
            pass

    def do_GET(self):
        """The stream of the older transport: it sends the messages of its queue, and ends with None."""
        world = self.world
        if world and "GET" in world.overrides:
            world.note("GET", dict(self.headers), None)
            world.overrides["GET"](self)
            return
        if world is None or not world.older:
            self.plain(405)
            return
        session, said = uuid.uuid4().hex, queue.Queue()
        world.streams[session] = said
        world.note("GET", dict(self.headers), None)
        self.events()
        try:
            self.wfile.write(f"event: endpoint\ndata: {world.older.format(session=session)}\n\n".encode())
            while (message := said.get()) is not None:
                self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        except OSError:
            pass

    def take_older(self, message):
        """In the older transport, the POST is only accepted, and the answer goes over the stream."""
        world = self.world
        said = world.streams.get(self.path.partition("session=")[2])
        if said is None:
            self.plain(404)
            return
        world.note("POST", dict(self.headers), message)
        if message.get("method") in world.overrides:
            world.overrides[message["method"]](self, message)
            return
        self.plain(202)
        if "id" in message and "method" in message:
            said.put({"jsonrpc": "2.0", "id": message["id"], "result": world.result(message)})

    def do_DELETE(self):
        self.world.open.discard(self.headers.get("Mcp-Session-Id"))
        self.world.note("DELETE", dict(self.headers), None)
        self.plain(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        world, message = self.world, json.loads(body)
        if world is None:
            self.plain(404)
            return
        if world.older:
            self.take_older(message)
            return
        world.note("POST", dict(self.headers), message)
        method = message.get("method")
        session = self.headers.get("Mcp-Session-Id")
        if world.sessions and method != "initialize" and session not in world.open:
            self.plain(404)
        elif method in world.overrides:
            world.overrides[method](self, message)
        elif world.stateless:
            self.take_stateless(message)
        elif "id" not in message or "method" not in message:
            self.plain(202)
        elif method == "server/discover":
            self.answer(message, error={"code": METHOD_NOT_FOUND, "message": "Method not found"})
        elif method == "initialize" and world.sessions:
            session = uuid.uuid4().hex
            world.open.add(session)
            self.answer(message, world.result(message), Mcp_Session_Id=session)
        elif world.stream:
            self.events({"jsonrpc": "2.0", "id": message["id"], "result": world.result(message)})
        else:
            self.answer(message, world.result(message))


class McpServers:
    def __init__(self):
        self.port = free_port()
        self.everything = free_port()  # for the reference server
        self.everything_older = free_port()  # for the same, over the older transport
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.http.daemon_threads = True
        self.http.worlds = {}
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def world(self, path, *tools, **options):
        """Makes a server at this path: (tool, result), ..."""
        self.http.worlds[f"/{path}"] = made = World(tools, **options)
        return made

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def entry(self, path, **more):
        """The tool of a request."""
        return {"type": "mcp", "server_label": path, "server_url": self.url(path),
                "require_approval": "never", **more}

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
