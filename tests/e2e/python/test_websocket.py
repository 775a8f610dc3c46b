"""Responses over a WebSocket: the handshake, lanes, the warm chain, and what no client should say."""

import json
import signal

import httpx2
import pytest

from harness.patience import patience
from harness.server import eventually
from harness.tools import WEATHER_FLAT, WEATHER_RULES
from harness.websocket import BINARY, CLOSE, PING, PONG, TEXT, Refused, WebSocket, text_of
from test_responses import collapsed, texts_of

STARTED = ["response.created", "response.in_progress"]
SAID = ["response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.done", "response.content_part.done", "response.output_item.done"]


@pytest.fixture
def connect(server):
    """connect(**options) -> a WebSocket to the server of the session."""
    sockets = []

    def connect(to=server, **options):
        sockets.append(WebSocket(to, **options))
        return sockets[-1]

    yield connect
    for one in sockets:
        one.socket.close()


# ---- events ----

@pytest.mark.threads
def test_a_response_has_the_events_of_a_stream(connect, upstream):
    ws = connect()
    ws.create(input="Hi", metadata={"a": "1"})
    events = ws.response()
    assert collapsed(events) == [*STARTED, *SAID, "response.completed"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert not any("stream_id" in event for event in events)
    made = events[-1]["response"]
    assert text_of(made) == "Hello there, my friend." and made["metadata"] == {"a": "1"}
    assert made["background"] is False and made["store"] is True
    assert text_of(ws.ask(input="Again")) == "Hello there, my friend."


def test_a_response_is_stored_unless_store_is_false(connect, client, http):
    ws = connect()
    kept, gone = ws.ask(input="Hi"), ws.ask(input="Hi", store=False)
    assert client.responses.retrieve(kept["id"]).output_text == "Hello there, my friend."
    assert http.get(f"/v1/responses/{gone['id']}").status_code == 404


def test_a_failure_is_reported_as_in_a_stream(connect, upstream):
    upstream.answer(fault={"kind": "status", "status": 400})
    ws = connect()
    ws.create(input="Hi")
    *_, error, failed = ws.response()
    assert error["type"] == "error" and error["code"] == failed["response"]["error"]["code"]
    assert failed["type"] == "response.failed"
    upstream.answer(text="Better.")
    assert text_of(ws.ask(input="Hi")) == "Better."


def test_generate_false_keeps_the_input_without_a_model_request(connect, upstream, client):
    ws = connect()
    ws.create(input="My name is Ada.", generate=False)
    events = ws.response()
    assert [event["type"] for event in events] == [*STARTED, "response.completed"]
    kept = events[-1]["response"]
    assert kept["output"] == [] and kept["usage"]["total_tokens"] == 0
    assert upstream.chats() == []
    ws.ask(input="Who am I?", previous_response_id=kept["id"])
    assert texts_of(upstream.chats()[-1]) == [("user", "My name is Ada."), ("user", "Who am I?")]
    assert client.responses.retrieve(kept["id"]).output == []
    # Over HTTP there is no such parameter.
    made = client.responses.create(model="demo", input="Hi", extra_body={"generate": False})
    assert made.output_text == "Hello there, my friend."


# ---- the SDK ----

def test_the_python_sdk_works_over_websocket(server, upstream, client):
    first = None
    with client.responses.connect() as connection:
        for text in ("one", "two"):
            connection.response.create(model="demo", input=text, store=False,
                                       previous_response_id=first)
            for event in connection:
                if event.type == "response.completed":
                    break
            first = event.response.id
            assert event.response.output_text == "Hello there, my friend."
        assert [text for _, text in texts_of(upstream.chats()[-1])][::2] == ["one", "two"]
        connection.response.create(model="demo", input="three", previous_response_id="resp_x")
        event = next(iter(connection))
        assert (event.type, event.status) == ("error", 400)
        assert event.error.code == "previous_response_not_found"


# ---- Codex CLI ----

# As version 0.169 lists them in every request.
CODEX_TOOLS = [
    {"type": "function", "name": "exec_command", "strict": False,
     "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}},
    {"type": "namespace", "name": "multi_agent_v1", "description": "Agents.", "tools": [
        {"type": "function", "name": "spawn", "parameters": {"type": "object", "properties": {}}}]},
    {"type": "web_search", "external_web_access": False},
]
CODEX = {"tools": CODEX_TOOLS, "tool_choice": "auto", "parallel_tool_calls": True, "reasoning": {"summary": "auto"},
         "store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "01a20cec", "stream": True,
         "client_metadata": {"x-codex-installation-id": "a15d243b"}}


def codex_message(role, text):
    return {"type": "message", "id": f"msg_{role}-0001", "role": role, "content": [{"type": "input_text", "text": text}]}


def codex_output(call):
    return {"type": "function_call_output", "id": "fco_01a20cec", "call_id": call["call_id"], "output": "seen-42\n"}


@pytest.fixture
def for_codex(upstream):
    upstream.script({"match": {"user": "files", "tool_results": False},
                     "answer": {"reasoning": "Let me look.",
                                "tool_calls": [{"name": "exec_command", "arguments": {"cmd": "ls"}}]}},
                    {"match": {"tool_results": True}, "answer": {"text": "It has run."}})


def roles_of(chat):
    return [message["role"] for message in chat["messages"]]


def test_codex_works_over_websocket(connect, upstream, for_codex):
    """It warms the chain up, and then sends what is new: nothing is stored."""
    ws = connect(headers={"OpenAI-Beta": "responses_websockets=2026-02-06"})
    warm = ws.ask(**CODEX, input=[codex_message("developer", "You are Codex.")], generate=False)
    asked = ws.ask(**CODEX, input=[codex_message("user", "Which files are here?")], previous_response_id=warm["id"])
    thought, call = asked["output"]
    assert (thought["type"], thought["summary"][0]["text"]) == ("reasoning", "Let me look.")
    assert (call["type"], call["name"]) == ("function_call", "exec_command")
    said = ws.ask(**CODEX, input=[codex_output(call)], previous_response_id=asked["id"])
    assert text_of(said) == "It has run."
    assert roles_of(upstream.chats()[-1]) == ["system", "user", "assistant", "tool"]
    assert [notes["type"] for notes in said["runnel"]["unavailable_tools"]] == ["web_search"]


def test_codex_works_over_http(client, upstream, for_codex):
    """It keeps the history itself, with the reasoning as it came."""
    history = [codex_message("developer", "You are Codex."), codex_message("user", "Which files are here?")]
    for _ in range(2):
        *_, last = client.responses.create(model="demo", input=history, stream=True, extra_body=CODEX)
        history += [item.model_dump(exclude_none=True) for item in last.response.output]
        if last.response.output_text:
            break
        history.append(codex_output(history[-1]))
    assert last.response.output_text == "It has run."
    assert roles_of(upstream.chats()[-1]) == ["system", "user", "assistant", "tool"]


# ---- lanes ----

def slow_and_fast(upstream):
    upstream.script({"match": {"user": "slow"},
                     "answer": {"text": ["a", "b", "c", "d"], "piece_delay_ms": 200}},
                    {"answer": {"text": "fast"}})


def test_without_lanes_responses_run_one_after_another(connect, upstream):
    slow_and_fast(upstream)
    ws = connect()
    for text in ("slow", "fast", "faster"):
        ws.create(input=text)
    seen = [ws.response() for _ in range(3)]
    assert [text_of(events[-1]["response"]) for events in seen] == ["abcd", "fast", "fast"]
    for events in seen:
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[0]["type"] == "response.created"


@pytest.mark.threads
def test_lanes_run_side_by_side(connect, upstream):
    slow_and_fast(upstream)
    ws = connect()
    ws.create(input="slow", stream_id="a.1")
    ws.create(input="fast", stream_id="b-2")
    ws.create(input="fast", stream_id="a.1")
    ws.create(input="fast")
    lanes, ended = {}, []
    while len(ended) < 4:
        event = ws.next()
        lane = event.get("stream_id")
        lanes.setdefault(lane, []).append(event)
        if event["type"] == "response.completed":
            ended.append(lane)
    assert ended[-2:] == ["a.1", "a.1"] and set(ended) == {"a.1", "b-2", None}
    first = [event["type"] for event in lanes["a.1"]].index("response.completed") + 1
    for events in (lanes["a.1"][:first], lanes["a.1"][first:], lanes["b-2"], lanes[None]):
        assert collapsed(events) == [*STARTED, *SAID, "response.completed"]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_lanes_have_a_limit(start_server, connect, upstream):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    ws = connect(start_server(websocket_lanes=2))
    ws.create(input="1", stream_id="one")
    ws.create(input="2", stream_id="two")
    ws.create(input="1 again", stream_id="one")
    ws.create(input="3", stream_id="three")
    error = ws.until("error")[-1]
    assert (error["status"], error["stream_id"]) == (400, "three")
    assert error["error"] == {"type": "invalid_request_error", "param": "stream_id",
                              "code": "websocket_stream_limit_reached",
                              "message": "This WebSocket connection has reached its stream limit."}


def test_waiting_messages_are_limited(connect, upstream):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    ws = connect()
    for number in range(66):
        ws.create(input=str(number))
    error = ws.until("error")[-1]
    assert (error["status"], error["error"]["code"]) == (429, "rate_limit_exceeded")


# ---- the chain ----

def continued(upstream):
    return texts_of(upstream.chats()[-1])


def test_a_chain_continues_whether_it_is_stored_or_not(connect, upstream):
    for store in (True, False):
        ws = connect()
        last, received = None, []
        for text in ("one", "two", "three"):
            last = ws.ask(input=text, previous_response_id=last, store=store)["id"]
            received += [("user", text)]
            assert continued(upstream) == received
            received += [("assistant", "Hello there, my friend.")]


def test_a_lane_forks_from_another(connect, upstream):
    ws = connect()
    root = ws.ask(input="root", store=False, stream_id="a")["id"]
    for lane in ("b", "c"):
        ws.ask(input=lane, previous_response_id=root, store=False, stream_id=lane)
        assert continued(upstream)[-3:] == [("user", "root"),
                                            ("assistant", "Hello there, my friend."),
                                            ("user", lane)]


def test_responses_that_are_not_stored_end_with_the_connection(connect, client):
    gone = connect().ask(input="Hi", store=False)["id"]
    ws = connect()
    ws.create(input="More", previous_response_id=gone, stream_id="x")
    assert ws.error() == {
        "type": "error", "status": 400, "stream_id": "x",
        "error": {"type": "invalid_request_error", "code": "previous_response_not_found",
                  "message": f"Previous response with id '{gone}' not found.",
                  "param": "previous_response_id"}}
    made = client.responses.create(model="demo", input="Hi").id
    assert ws.ask(input="More", previous_response_id=made)["previous_response_id"] == made


def test_a_failed_continuation_forgets_its_parent(connect):
    ws = connect()
    first = ws.ask(input="Hi", store=False)["id"]
    ws.create(input="More", previous_response_id=first, temperature=9)
    assert ws.error()["error"]["code"] == "decimal_above_max_value"
    ws.create(input="More", previous_response_id=first)
    assert ws.error()["error"]["code"] == "previous_response_not_found"


def test_a_deleted_response_is_not_remembered(connect, client):
    ws = connect()
    first = ws.ask(input="Hi")["id"]
    client.responses.delete(first)
    ws.create(input="More", previous_response_id=first)
    assert ws.error()["error"]["code"] == "previous_response_not_found"


def test_without_memory_a_stored_response_can_be_continued(start_server, connect, upstream):
    ws = connect(start_server(websocket_memory=0))
    first = ws.ask(input="one")["id"]
    ws.ask(input="two", previous_response_id=first)
    assert [text for _, text in continued(upstream)][::2] == ["one", "two"]
    gone = ws.ask(input="one", store=False)["id"]
    ws.create(input="two", previous_response_id=gone)
    assert ws.error()["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("store", [True, False])
def test_history_is_not_cut_silently(start_server, connect, upstream, store):
    ws = connect(start_server(max_items=3))
    rule = {"role": "developer", "content": "Rule."}
    first = ws.ask(input=[rule, {"role": "user", "content": "a"}], store=store)
    second = ws.ask(input="b", previous_response_id=first["id"], store=store)
    third = ws.ask(input="c", previous_response_id=second["id"], store=store, truncation="auto")
    said = [text for _, text in texts_of(upstream.chats()[-1])]
    assert said == ["Rule.", "Hello there, my friend.", "b", "Hello there, my friend.", "c"]
    ws.create(input="d", previous_response_id=third["id"], store=store)
    error = ws.error()["error"]
    assert error["code"] == "context_length_exceeded" and "3 items" in error["message"]


@pytest.mark.parametrize("store", [True, False])
def test_a_client_can_answer_calls(connect, upstream, store):
    upstream.script(*WEATHER_RULES)
    ws = connect()
    ws.create(input="Weather?", tools=[WEATHER_FLAT], store=store)
    asked = ws.response()[-1]["response"]
    assert asked["output"][0]["name"] == "get_weather"
    ws.create(input="And?", previous_response_id=asked["id"], store=store)
    assert ws.error()["error"]["message"] == "No tool output found for function call call_1."
    asked = ws.ask(input="Weather?", tools=[WEATHER_FLAT], store=store)
    said = ws.ask(input=[{"type": "function_call_output", "call_id": "call_1", "output": "sunny"}],
                  previous_response_id=asked["id"], store=store)
    assert text_of(said) == "It is sunny."


def test_a_conversation_can_be_continued(connect, client, upstream):
    conversation = client.conversations.create().id
    ws = connect()
    ws.ask(input="one", conversation=conversation)
    last = ws.ask(input="two", conversation=conversation)["id"]
    assert [text for _, text in continued(upstream)][::2] == ["one", "two"]
    ws.ask(input="three", previous_response_id=last)
    assert [text for _, text in continued(upstream)][::2] == ["one", "two", "three"]
    assert len(list(client.conversations.items.list(conversation))) == 4


# ---- errors ----

INVALID = [
    ('{"type": ', None, None),
    ("[]", None, "invalid_type"),
    ("{}", "type", "missing_required_parameter"),
    ('{"type": "response.cancel"}', "type", "invalid_value"),
    ('{"type": "response.create"}', "model", "missing_required_parameter"),
    ('{"type": "response.create", "type": "response.create"}', None, None),
    ('{"type": "response.create", "model": "demo"}', "input", "missing_required_parameter"),
    ('{"type": "response.create", "model": "demo", "input": "x", "top_p": 2}',
     "top_p", "decimal_above_max_value"),
    ('{"type": "response.create", "model": "demo", "input": "x", "background": true}',
     "background", "unsupported_parameter"),
    ('{"type": "response.create", "model": "demo", "input": "x", "stream": false}',
     "stream", "unsupported_parameter"),
    ('{"type": "response.create", "model": "demo", "input": "x", "stream_id": 1}',
     "stream_id", "invalid_type"),
    ('{"type": "response.create", "model": "demo", "input": "x", "stream_id": "a b"}',
     "stream_id", "invalid_value"),
    ('{"type": "response.create", "model": "demo", "input": "x", "stream_id": ""}',
     "stream_id", "invalid_value"),
    ('{"type": "response.create", "model": "demo", "input": "x", "generate": "no"}',
     "generate", "invalid_type"),
    ('{"type": "response.create", "model": "demo", "input": "x", "tools": [{"type": "teapot"}]}',
     None, None),
    ('{"type": "response.steer", "input": "x"}', "previous_response_id",
     "missing_required_parameter"),
    ('{"type": "response.steer", "previous_response_id": "resp_x"}', "input",
     "missing_required_parameter"),
    ('{"type": "response.steer", "previous_response_id": "resp_x", "input": 1}', "input",
     "invalid_type"),
    ("", None, None),
]


def test_invalid_messages_are_answered_and_the_connection_stays_open(connect):
    ws = connect()
    for text, param, code in INVALID:
        ws.send_frame(text)
        error = ws.error()
        assert error["status"] == 400 and error["error"]["type"] == "invalid_request_error", text
        if code:
            assert (error["error"]["param"], error["error"]["code"]) == (param, code), text
    ws.send_frame("[" * 100)
    assert ws.error()["status"] == 413
    assert text_of(ws.ask(input="Hi", stream=True, background=None)) == "Hello there, my friend."


def test_unknown_parameters_are_refused_where_configured(start_server, connect):
    ws = connect(start_server(unknown_parameters="reject"))
    ws.create(input="Hi", stream_id="a", generate=True, streem=True)
    error = ws.error()
    assert error["error"]["code"] == "unknown_parameter" and error["stream_id"] == "a"
    assert error["error"]["param"] == "streem"
    ws.ask(input="Hi", stream_id="a", generate=True)


# ---- the handshake ----

@pytest.mark.parametrize("headers, status, code", [
    ({"Authorization": None}, 401, None),
    ({"Authorization": "Bearer sk-wrong"}, 401, "invalid_api_key"),
    ({"Upgrade": None}, 405, "method_not_supported"),
    ({"Upgrade": "h2c"}, 405, "method_not_supported"),
    ({"Connection": "keep-alive"}, 400, None),
    ({"Sec-WebSocket-Version": "8"}, 426, None),
    ({"Sec-WebSocket-Version": None}, 426, None),
    ({"Sec-WebSocket-Key": None}, 400, None),
    ({"Sec-WebSocket-Key": "c2hvcnQ="}, 400, None),
    ({"Sec-WebSocket-Key": "!" * 24}, 400, None),
    ({"Origin": "http://evil.example"}, 403, None),
    ({"Content-Length": "2"}, 400, None),
])
def test_a_handshake_is_refused_with_an_error(connect, headers, status, code):
    with pytest.raises(Refused) as refused:
        connect(headers=headers, early=b"{}" if "Content-Length" in headers else b"")
    assert refused.value.status == status
    assert refused.value.body["error"]["code"] == code
    assert refused.value.headers["x-request-id"].startswith("req_")
    if status == 426:
        assert refused.value.headers["sec-websocket-version"] == "13"
    if status == 405:
        assert refused.value.headers["allow"] == "POST"


def test_http_1_0_is_refused(connect):
    with pytest.raises(Refused) as refused:
        connect(version="HTTP/1.0")
    assert refused.value.status == 400


def test_a_head_request_is_no_handshake(server):
    answer = httpx2.head(f"{server.url}/v1/responses",
                         headers={"Authorization": f"Bearer {server.settings['api_key']}"})
    assert answer.status_code == 405


def test_pages_of_known_origins_may_connect(start_server, connect):
    ws = connect(start_server(cors_origins="https://app.example"),
                 headers={"Origin": "https://app.example", "Connection": "keep-alive, Upgrade"})
    ws.ask(input="Hi")


def test_list_headers_may_have_several_lines(server, connect):
    key = f"openai-insecure-api-key.{server.settings['api_key']}"
    ws = connect(headers={"Authorization": None, "Connection": ["keep-alive", "Upgrade"],
                          "Upgrade": ["h2c", "websocket"],
                          "Sec-WebSocket-Protocol": ["", "responses", key]})
    assert ws.headers["sec-websocket-protocol"] == "responses"
    ws.ask(input="Hi")
    ws = connect(headers={"Authorization": None, "Sec-WebSocket-Protocol": [key, "responses, more"]})
    assert ws.headers["sec-websocket-protocol"] == "responses"


def refusal(connect, server, headers):
    with pytest.raises(Refused) as refused:
        connect(server, headers=headers)
    return refused.value.status, refused.value.body["error"]["message"]


def test_single_headers_may_not_be_repeated(start_server, connect):
    server = start_server(cors_origins="https://app.example")
    for name, *values in [("Origin", "https://app.example", "http://evil.example"),
                          ("Origin", "http://evil.example", "https://app.example"),
                          ("Sec-WebSocket-Version", "13", "8"),
                          ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "!")]:
        assert refusal(connect, server, {name: values}) == (
            400, "A header that must be given once was given twice.")


OWN_PAGES = [
    ("http://{host}", {}),
    ("http://localhost:5173", {"Sec-Fetch-Site": "same-origin"}),
    ("https://chat.example", {"Sec-Fetch-Site": "same-origin"}),
]
OTHER_PAGES = [
    ("http://localhost:5173", {"Sec-Fetch-Site": "same-site"}),
    ("http://localhost:5173", {}),
    ("null", {"Sec-Fetch-Site": "same-origin"}),
]
# A name that its owner made lead here, or to a proxy in front, and what his page's browser says of it.
REBOUND_PAGES = [
    ("http://rebound.example", {"Sec-Fetch-Site": "same-origin"}),
    ("http://rebound.example", {"Sec-Fetch-Site": "same-origin", "Host": "rebound.example"}),
    ("http://localhost.rebound.example:80", {"Sec-Fetch-Site": "same-origin"}),
]


@pytest.mark.parametrize("keys", [True, False])
def test_pages_of_the_server_itself_may_connect(start_server, connect, keys):
    """What a page does whose browser takes it for ours is no danger where it needs a key."""
    server = start_server(**({} if keys else {"no_auth": True}))
    mine, others = ((OWN_PAGES + REBOUND_PAGES, OTHER_PAGES) if keys else
                    (OWN_PAGES, OTHER_PAGES + REBOUND_PAGES))
    for origin, more in mine:
        headers = {"Origin": origin.format(host=f"127.0.0.1:{server.port}"), **more}
        connect(server, headers=headers).ask(input="Hi")
    for origin, more in others:
        assert refusal(connect, server, {"Origin": origin, **more})[0] == 403, (origin, more)


def test_a_message_sent_with_the_handshake_is_read(connect):
    early = WebSocket.frame(json.dumps({"type": "response.create", "model": "demo",
                                        "input": "early"}))
    assert connect(early=early).response()[-1]["type"] == "response.completed"


def test_a_key_is_asked_for_again(start_server, connect):
    server = start_server()
    key = server.command("keys", "create")
    ws = connect(server, headers={"Authorization": f"Bearer {key}"})
    ws.ask(input="Hi")
    server.command("keys", "revoke", key)
    ws.create(input="Hi")
    assert (error := ws.error())["status"] == 401 and error["error"]["code"] == "invalid_api_key"


# ---- frames ----

def create_text(**body):
    return json.dumps({"type": "response.create", "model": "demo", "input": "Hi", **body}).encode()


def test_a_message_may_be_fragmented(connect):
    ws = connect()
    text = create_text(input="ä" * 200)
    for at in range(0, len(text), 7):
        ws.send_frame(text[at:at + 7], TEXT if not at else 0, final=at + 7 >= len(text))
        ws.send_frame(b"?", PING)
    assert ws.response()[-1]["type"] == "response.completed"
    frame = ws.frame(create_text())
    for byte in frame:
        ws.send_bytes(bytes([byte]))
    assert ws.response()[-1]["type"] == "response.completed"


def test_pings_are_answered(connect):
    ws = connect()
    ws.send_frame(b"are you there", PING)
    assert ws.read_frame() == (PONG, b"are you there")


@pytest.mark.parametrize("key", [b"\0\0\0\0", b"\x81\x82\0\x84", b"\r\n\0\n"])
def test_frames_sent_with_the_handshake_are_unchanged(connect, key):
    """What reads the bytes of HTTP changes none of them."""
    ws = connect(early=WebSocket.frame(b"hello", PING, key=key))
    assert ws.read_frame() == (PONG, b"hello")


BROKEN = [
    (lambda ws: ws.frame(create_text(), mask=False), 1002),
    (lambda ws: ws.frame(create_text(), rsv=4), 1002),
    (lambda ws: ws.frame(create_text(), opcode=3), 1002),
    (lambda ws: ws.frame(create_text(), opcode=0), 1002),
    (lambda ws: ws.frame(b"x" * 126, PING), 1002),
    (lambda ws: ws.frame(b"x", PING, final=False), 1002),
    (lambda ws: ws.frame(b"{", TEXT, final=False) + ws.frame(b"}", TEXT), 1002),
    (lambda ws: ws.frame(create_text(), BINARY), 1003),
    (lambda ws: ws.frame(b'"\xff"'), 1007),
    (lambda ws: ws.frame(b'"\xc3', TEXT, final=False) + ws.frame(b'"', 0), 1007),
    (lambda ws: b"\x81\xff" + (1 << 40).to_bytes(8, "big") + b"mask?", 1009),
    (lambda ws: b"\x81\xff" + (20 << 20).to_bytes(8, "big") + b"mask?", 1009),
    (lambda ws: ws.frame((1000).to_bytes(2, "big") + b"bye", CLOSE), 1000),
    (lambda ws: ws.frame(b"", CLOSE), None),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_a_violation_of_the_protocol_ends_the_connection(connect, number):
    ws = connect()
    make, code = BROKEN[number]
    ws.send_bytes(make(ws))
    assert ws.read_close()[0] == code


def test_a_fragmented_message_has_the_same_limit(start_server, connect):
    ws = connect(start_server(max_body=1024))
    for number in range(3):
        ws.send_frame(b" " * 500, 0 if number else TEXT, final=False)
    assert ws.read_close()[0] == 1009


def test_a_message_must_come_in_time(start_server, connect):
    ws = connect(start_server(body_timeout=0.2))
    ws.send_frame(b"{", final=False)
    assert ws.read_close()[0] == 1008


@pytest.mark.slow
def test_many_small_messages_at_once_are_handled(connect):
    ws = connect()
    ws.send_bytes(ws.frame("{}") * 500 + ws.frame(create_text()))
    for _ in range(500):
        assert ws.error()["error"]["code"] == "missing_required_parameter"
    assert ws.response()[-1]["type"] == "response.completed"


# ---- silence, age, ends ----

def test_a_silent_connection_is_pinged(start_server, connect):
    ws = connect(start_server(sse_ping_interval=0.1))
    for _ in range(3):
        opcode, payload = ws.read_frame()
        assert opcode == PING
        ws.send_frame(payload, PONG)
    ws.ask(input="Hi")


def test_a_client_that_does_not_answer_pings_is_disconnected(start_server, connect, upstream):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    ws = connect(start_server(sse_ping_interval=0.1, stream_stall_timeout=0.3))
    ws.create(input="Hi")
    with pytest.raises(EOFError):
        while True:
            ws.read_frame()
    eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "client_left")


def test_a_client_that_does_not_read_is_disconnected(start_server, connect, upstream):
    upstream.answer(text="x" * 8192, split="whole", repeat=1500)
    server = start_server(stream_buffer=65536, stream_stall_timeout=1)
    ws = connect(server, receive_buffer=4096)
    ws.create(input="Hi", store=False)
    eventually(lambda: [r["state"] for r in upstream.requests() if "chat" in r["path"]],
               lambda states: states == ["client_left"], seconds=40)


def test_a_connection_has_an_age_limit(start_server, connect, upstream):
    slow_and_fast(upstream)
    server = start_server(websocket_age=0.3)
    ws = connect(server)
    error = ws.error()["error"]
    assert error["code"] == "websocket_connection_limit_reached"
    assert ws.read_close()[0] == 1001
    ws = connect(server)
    ws.create(input="slow")
    events = ws.response()
    assert text_of(events[-1]["response"]) == "abcd"
    assert ws.read_close()[0] == 1001


@pytest.mark.threads
@pytest.mark.parametrize("how", ["close", "fin", "half"])
def test_a_client_that_leaves_ends_its_responses(connect, upstream, http, how):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    ws = connect()
    for lane in ("a", "b"):
        ws.create(input="Hi", stream_id=lane)
    ids = {}
    while len(ids) < 2:
        event = ws.until("response.created")[-1]
        ids[event["stream_id"]] = event["response"]["id"]
    ws.create(input="Hi", stream_id="a")
    eventually(lambda: len(upstream.chats()) == 2)
    if how == "close":
        ws.send_frame(b"", CLOSE)
        assert ws.read_close()
    elif how == "fin":
        ws.socket.close()
    else:
        ws.socket.shutdown(1)
    eventually(lambda: {r["state"] for r in upstream.requests()},
               lambda states: states == {"client_left"})
    for made in ids.values():
        eventually(lambda made=made: http.get(f"/v1/responses/{made}").json().get("status"),
                   lambda status: status == "cancelled")
    assert len(upstream.chats()) == 2


def test_a_drain_lets_responses_finish(start_server, connect, upstream):
    slow_and_fast(upstream)
    server = start_server(drain_timeout=30)
    idle, busy = connect(server), connect(server)
    busy.create(input="slow")
    busy.until("response.created")
    server.process.signal(signal.SIGTERM)
    assert idle.read_close()[0] == 1001
    idle.socket.close()
    busy.create(input="fast")
    assert text_of(busy.until("response.completed")[-1]["response"]) == "abcd"
    error = busy.error()
    assert error["status"] == 503 and "shutting down" in error["error"]["message"]
    assert busy.read_close()[0] == 1001
    busy.socket.close()
    assert server.process.child.wait(timeout=patience(30)) == 0


def test_a_drain_of_websockets_has_a_time_limit(start_server, connect, upstream):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    server = start_server(drain_timeout=0.3)
    ws = connect(server)
    ws.create(input="Hi")
    ws.until("response.created")
    server.process.signal(signal.SIGTERM)
    assert ws.response()[-1]["type"] == "response.failed"
    assert ws.read_close()[0] == 1001
    assert server.process.child.wait(timeout=patience(30)) == 0


def test_a_client_that_stays_connected_does_not_delay_the_drain(start_server, connect):
    server = start_server(drain_timeout=3600)
    ws = connect(server)
    ws.ask(input="Hi")
    server.process.signal(signal.SIGTERM)
    assert server.process.child.wait(timeout=patience(30)) == 0
    assert ws.read_close()[0] == 1001
