"""A walk through the API that touches every table, by a client that retries when the database is away, as
the SDKs do."""

from .faults import FINAL, listen
from .server import eventually
from .tools import WEATHER, WEATHER_RULES

FAILURES = 5  # that one tour survives, perhaps in one request
TRIES = FAILURES + 1
ANSWER = "It is sunny."
SKILL = "---\nname: tour\ndescription: Around.\n---\nGo on.\n"


class Tour:
    def __init__(self, server):
        self.server = server
        self.refused = 0

    def ask(self, method, path, body=None, known=(200,), key=None):
        headers = {"Idempotency-Key": key} if key else {}
        for _ in range(TRIES):
            answer = self.server.api().request(method, path, json=body, headers=headers)
            if answer.status_code != 503:
                assert answer.status_code in known, f"{method} {path}: {answer.text}"
                return answer.json()
            self.check_refusal(answer.json())
        raise AssertionError(f"{method} {path}: refused {TRIES} times")

    def check_refusal(self, body):
        self.refused += 1
        error = body["error"]
        assert error["type"] == "server_error" and error["message"]
        # What went wrong inside is nobody's business outside.
        assert "fault" not in error["message"] and "SELECT" not in error["message"]

    def stream(self, path, body, known=(200,)):
        for _ in range(TRIES):
            status, text, broken = listen(self.server.api(), path, body)
            assert not broken, f"{path} broke after {text[-300:]}"
            if status != 503:
                assert status in known, text
                return text
            self.refused += 1
        raise AssertionError(f"{path}: refused {TRIES} times")

    def settle(self, path, *statuses):
        return eventually(lambda: self.ask("GET", path),
                          lambda run: run["status"] in statuses, seconds=30)

    def start_run(self, thread, assistant):
        """A refused run may have been made all the same; then the thread says so."""
        self.stream(f"/threads/{thread}/runs", {"assistant_id": assistant}, (200, 400))
        return self.ask("GET", f"/threads/{thread}/runs?limit=1")["data"][0]["id"]

    def assistants(self):
        assistant = self.ask("POST", "/assistants", {"model": "demo", "tools": [WEATHER]})["id"]
        self.ask("POST", f"/assistants/{assistant}", {"name": "A"})
        thread = self.ask("POST", "/threads", {})["id"]
        assert self.ask("GET", f"/threads/{thread}/messages")["data"] == []
        self.ask("POST", f"/threads/{thread}", {"metadata": {"a": "1"}})
        message = self.ask("POST", f"/threads/{thread}/messages",
                           {"role": "user", "content": "weather"})["id"]
        self.ask("POST", f"/threads/{thread}/messages/{message}", {"metadata": {"a": "1"}})
        run = self.start_run(thread, assistant)
        base = f"/threads/{thread}/runs/{run}"
        self.settle(base, "requires_action")
        self.ask("POST", base, {"metadata": {"a": "1"}})
        self.stream(f"{base}/submit_tool_outputs",
                    {"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
        run = self.settle(base, *FINAL)
        assert run["status"] == "completed" and run["usage"]["total_tokens"] > 0, run
        self.look_around(thread, assistant, base)
        self.repeated(assistant)
        steps = self.ask("GET", f"{base}/steps")["data"]
        assert [step["type"] for step in steps] == ["message_creation", "tool_calls"]
        self.ask("GET", f"{base}/steps/{steps[0]['id']}")
        listed = self.ask("GET", f"/threads/{thread}/messages?order=asc")["data"]
        texts = [part["text"]["value"] for message in listed for part in message["content"]]
        texts = [text for text in texts if text != "mistake"]  # refused, and made all the same
        assert texts[-1] == ANSWER and texts.count(ANSWER) == 1, texts
        self.ask("GET", f"/threads/{thread}/messages/{message}")
        self.copies(thread)
        self.cancelled(assistant)
        self.ask("DELETE", f"/threads/{thread}", known=(200, 404))
        self.ask("DELETE", f"/assistants/{assistant}", known=(200, 404))

    def look_around(self, thread, assistant, base):
        """Lists both ways, and from a place in them."""
        self.ask("GET", f"/threads/{thread}")
        self.ask("GET", f"/assistants/{assistant}")
        for path in ("/assistants", f"/threads/{thread}/messages", f"/threads/{thread}/runs",
                     f"{base}/steps"):
            for order in ("asc", "desc"):
                page = self.ask("GET", f"{path}?order={order}&limit=1")
                self.ask("GET", f"{path}?order={order}&after={page['last_id']}")
        spare = self.ask("POST", f"/threads/{thread}/messages",
                         {"role": "user", "content": "mistake"})["id"]
        self.ask("DELETE", f"/threads/{thread}/messages/{spare}", known=(200, 404))
        # What is gone is still a place in its list: by its mark, or by the time in its id.
        for gone in (spare, spare[:-1] + ("0" if spare[-1] != "0" else "1")):
            self.ask("GET", f"/threads/{thread}/messages?after={gone}")
        self.ask("GET", f"/threads/{thread}/messages?run_id={base.split('/')[-1]}")

    def repeated(self, assistant):
        """Under a key each is done once, whatever was refused or lost."""
        key = f"thread-{assistant}"
        thread, again = (self.ask("POST", "/threads", {}, key=key)["id"] for _ in range(2))
        assert thread == again
        said = {"role": "user", "content": "weather"}
        for _ in range(2):
            self.ask("POST", f"/threads/{thread}/messages", said, key=f"say-{thread}")
        listed = self.ask("GET", f"/threads/{thread}/messages")["data"]
        assert len(listed) == 1, listed
        body = {"assistant_id": assistant}
        base = f"/threads/{thread}/runs"
        made = [self.ask("POST", base, body, key=f"run-{thread}")["id"] for _ in range(2)]
        assert made[0] == made[1]
        self.settle(f"{base}/{made[0]}", "requires_action")
        outputs = {"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]}
        for _ in range(2):
            self.ask("POST", f"{base}/{made[0]}/submit_tool_outputs", outputs, key=made[0])
        assert self.settle(f"{base}/{made[0]}", *FINAL)["status"] == "completed"
        self.ask("DELETE", f"/threads/{thread}", known=(200, 404))

    def copies(self, thread):
        """A refused fork may have been made all the same, and a copy too."""
        other = self.ask("POST", f"/runnel/threads/{thread}/fork")["id"]
        self.ask("POST", f"/runnel/threads/{thread}/copy_to/{other}")
        self.ask("POST", f"/threads/{thread}/messages", {"role": "user", "content": "new"})
        self.ask("POST", f"/runnel/threads/{thread}/merge_to/{other}")
        self.ask("DELETE", f"/threads/{other}", known=(200, 404))

    def cancelled(self, assistant):
        made = self.ask("POST", "/threads/runs", {
            "assistant_id": assistant, "tools": [],
            "thread": {"messages": [{"role": "user", "content": "x"}]}})
        self.settle(f"/threads/{made['thread_id']}/runs/{made['id']}", "completed")
        thread = self.ask("POST", "/threads", {})["id"]
        base = f"/threads/{thread}/runs/{self.start_run(thread, assistant)}"
        self.settle(base, "requires_action")
        self.ask("POST", f"{base}/cancel", known=(200, 400))
        self.settle(base, "cancelled")

    def responses(self):
        first = self.ask("POST", "/responses", {"model": "demo", "input": "Hi"})
        assert first["status"] == "completed"
        text = self.stream("/responses", {"model": "demo", "input": "And?",
                                          "previous_response_id": first["id"]})
        assert "event: response.completed" in text and text.count("response.created") >= 1
        made = self.ask("POST", "/responses", {"model": "demo", "input": "Hi", "background": True})
        path = f"/responses/{made['id']}"
        assert self.settle(path, *FINAL)["status"] == "completed"
        named = {"type": "item_reference", "id": first["output"][0]["id"]}
        self.ask("POST", "/responses", {"model": "demo", "input": [named]})
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{path}/input_items?order={order}")
            self.ask("GET", f"{path}/input_items?order={order}&after={page['last_id']}")
        self.ask("DELETE", path, known=(200, 404))
        self.deleted()

    def deleted(self):
        """One that has ended and was continued, and one that goes on."""
        gone = self.ask("POST", "/responses", {"model": "demo", "input": "My name is Ann."})["id"]
        kept = self.ask("POST", "/responses", {"model": "demo", "input": "Hi",
                                               "previous_response_id": gone})["id"]
        self.ask("DELETE", f"/responses/{gone}", known=(200, 404))
        self.ask("GET", f"/responses/{gone}", known=(404,))
        self.ask("POST", "/responses", {"model": "demo", "input": "And?",
                                        "previous_response_id": kept})
        slow = self.ask("POST", "/responses", {"model": "demo", "input": "slowly",
                                               "background": True})["id"]
        self.ask("DELETE", f"/responses/{slow}", known=(200, 404))

    def conversations(self):
        item = {"type": "message", "role": "user", "content": "Hi"}
        base = "/conversations/" + self.ask("POST", "/conversations", {"items": [item]})["id"]
        self.ask("GET", base)
        self.ask("POST", base, {"metadata": {"a": "1"}})
        added = self.ask("POST", f"{base}/items", {"items": [item, item]})["data"][0]["id"]
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{base}/items?order={order}&limit=1")
            self.ask("GET", f"{base}/items?order={order}&after={page['last_id']}")
        self.ask("GET", f"{base}/items/{added}")
        self.ask("DELETE", f"{base}/items/{added}", known=(200, 404))
        text = self.stream("/responses", {"model": "demo", "input": "Hi",
                                          "conversation": base.split("/")[-1]})
        assert "event: response.completed" in text
        last = self.ask("GET", f"{base}/items?limit=1")["data"][0]
        assert last["content"][0]["text"] == ANSWER
        self.ask("DELETE", base, known=(200, 404))

    def make_skill(self):
        """One that was refused may have been made all the same."""
        return "/skills/" + self.ask("POST", "/skills", {"content": SKILL})["id"]

    def skills(self):
        path = self.make_skill()
        self.ask("GET", path)
        for order in ("asc", "desc"):
            page = self.ask("GET", f"/skills?order={order}&limit=1")
            self.ask("GET", f"/skills?order={order}&after={page['last_id']}")
        self.ask("POST", "/responses", {"model": "demo", "input": "the skill",
                                        "runnel": {"skills": [path.split("/")[-1]]}})
        self.ask("DELETE", path, known=(200, 404))
        self.skill_versions()

    def skill_versions(self):
        """The last one takes its skill with it. A refused one may have been made, or deleted, all the same."""
        path = self.make_skill()
        self.ask("POST", f"{path}/versions", {"content": SKILL})
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{path}/versions?order={order}&limit=1")
            self.ask("GET", f"{path}/versions?order={order}&after={page['last_id']}")
        last, *others = [version["version"] for version in self.ask("GET", f"{path}/versions?order=desc")["data"]]
        self.ask("GET", f"{path}/versions/{last}")
        self.ask("POST", path, {"default_version": last})
        box = self.ask("POST", "/containers", {"name": "tour", "skills": [
            {"type": "skill_reference", "skill_id": path.split("/")[-1]}]})["id"]
        self.ask("DELETE", f"/containers/{box}", known=(200, 404))
        for version in (*others, last):
            self.ask("DELETE", f"{path}/versions/{version}", known=(200, 404))

    def scripts(self):
        """Not a part of go(): they need boxes. Each is replaced by the next with its name."""
        path = "/runnel/scripts"
        made = self.ask("POST", path, {"name": "tour", "source": "def tour(): return 1"})["id"]
        self.ask("GET", f"{path}/{made}")
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{path}?order={order}&limit=1")
            self.ask("GET", f"{path}?order={order}&after={page['last_id']}")
        self.ask("DELETE", f"{path}/{made}", known=(200, 404))

    def tool_settings(self):
        """Those that were refused may have been made all the same, or taken back."""
        base = "/runnel/tool_settings"
        for user in ("?user=ann", "?user=bob"):
            self.ask("POST", f"{base}{user}", {"tool_groups": {"vars": False}})
        self.ask("GET", f"{base}?user=ann")
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{base}/users?order={order}&limit=1")
            self.ask("GET", f"{base}/users?order={order}&after={page['last_id']}")
        self.ask("POST", "/responses", {"model": "demo", "input": "Hi", "user": "ann"})
        for user in ("?user=ann", "?user=bob"):
            self.ask("DELETE", f"{base}{user}", known=(200, 404))

    def prompts(self):
        """A refused template may have been made all the same, and a version too."""
        base = "/runnel/prompts"
        path = f"{base}/" + self.ask("POST", base, {"instructions": "Hi.", "model": "demo"})["id"]
        self.ask("POST", f"{path}/versions", {"instructions": "Ho.", "model": "demo"})
        self.ask("GET", path)
        self.ask("GET", f"{path}/versions/1")
        for listed in (base, f"{path}/versions"):
            for order in ("asc", "desc"):
                page = self.ask("GET", f"{listed}?order={order}&limit=1")
                self.ask("GET", f"{listed}?order={order}&after={page['last_id']}")
        made = self.ask("POST", "/responses", {"prompt": {"id": path.split("/")[-1]}})
        assert made["instructions"] == "Ho."
        self.ask("DELETE", path, known=(200, 404))

    def variables(self):
        """A refused one may have been made all the same."""
        thread = self.ask("POST", "/threads", {})["id"]
        base = f"/runnel/threads/{thread}/variables"
        self.ask("POST", base, {"name": "a", "value": "1"}, known=(200, 400))
        self.ask("POST", f"{base}/a", {"value": "2", "keep": True})
        assert self.ask("GET", f"{base}/a")["value"] == "2"
        self.ask("POST", f"{base}/a", {"keep": False})
        for order in ("asc", "desc"):
            self.ask("GET", f"{base}?order={order}")
        self.ask("GET", f"{base}/stats")
        self.ask("DELETE", f"{base}/a", known=(200, 404))
        self.ask("DELETE", f"/threads/{thread}", known=(200, 404))
        response = self.ask("POST", "/responses", {"model": "demo", "input": "Hi", "runnel": {
            "variables_in": [{"name": "a", "value": "1"}]}})["id"]
        self.ask("DELETE", f"/runnel/responses/{response}/variables/a", known=(200, 404))

    def grants(self, approval):
        base = "/runnel/approval_grants"
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{base}?order={order}&limit=1")
            self.ask("GET", f"{base}?order={order}&after={page['last_id']}")
        grant = self.ask("GET", f"{base}/{page['last_id']}")
        assert grant["approval_id"] == approval, grant
        self.ask("DELETE", f"{base}/{page['last_id']}", known=(200, 404))

    def approvals(self):
        """An answer that was refused may have been taken all the same: then it is another's."""
        tools = [{"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
                  "require_approval": "always"}]
        base = "/runnel/approvals"
        asked = [self.ask("POST", "/responses", {"model": "demo", "input": "the time",
                                                 "tools": tools}) for _ in range(2)]
        conversation = self.ask("POST", "/conversations", {})["id"]
        asked.append(self.ask("POST", "/responses", {
            "model": "demo", "input": "the time", "tools": tools, "conversation": conversation}))
        ids = [response["output"][-1]["id"] for response in asked]
        for order in ("asc", "desc"):
            page = self.ask("GET", f"{base}?order={order}&limit=1")
            self.ask("GET", f"{base}?order={order}&after={page['last_id']}")
            self.ask("GET", f"{base}?order={order}&status=pending&limit=1")
        self.story(tools)
        decided = self.ask("POST", f"{base}/{ids[0]}", {"approve": True, "remember": {}})
        assert decided["status"] == "approved", decided
        answers = [[], *([{"type": "mcp_approval_response", "approval_request_id": id,
                           "approve": False}] for id in ids[1:])]
        self.grants(ids[0])
        said = {"role": "user", "content": "go on"}
        for response, answer in zip(asked, answers):
            place = {"conversation": conversation} if response is asked[-1] else \
                {"previous_response_id": response["id"]}
            self.ask("POST", "/responses", {"model": "demo", "tools": tools,
                                            "input": [*answer, said], **place}, (200, 409))

    def story(self, tools):
        """A question that is sent again, with its answer behind it."""
        said = {"role": "user", "content": "the time"}
        asked = self.ask("POST", "/responses", {"model": "demo", "input": [said], "tools": tools})
        question = asked["output"][-1]
        self.ask("POST", "/responses", {"model": "demo", "tools": tools, "input": [said, question, {
            "type": "mcp_approval_response", "approval_request_id": question["id"],
            "approve": False}]}, (200, 409))

    def decided_run(self):
        """Two questions of a run: the first answer waits for the second, which is submitted."""
        tools = [{"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
                  "require_approval": "always"}]
        assistant = self.ask("POST", "/assistants", {"model": "demo", "tools": tools})["id"]
        run = self.ask("POST", "/threads/runs", {"assistant_id": assistant, "thread": {
            "messages": [{"role": "user", "content": "the time twice"}]}})
        path = f"/threads/{run['thread_id']}/runs/{run['id']}"
        action = self.settle(path, "requires_action", *FINAL)["required_action"]
        calls = action["submit_tool_outputs"]["tool_calls"] if action else []
        for call in calls[:1]:
            self.ask("POST", f"/runnel/approvals/{call['id']}", {"approve": False})
        if calls:
            self.ask("POST", f"{path}/submit_tool_outputs", {"tool_outputs": [
                {"tool_call_id": call["id"], "output": "false"} for call in calls[1:]]}, (200, 400))
        assert self.settle(path, *FINAL)["status"] in ("completed", "failed")

    def covered_run(self):
        """Two runs of an assistant ask for the same; what is remembered of one answers the other."""
        assistant = self.ask("POST", "/assistants", {"model": "demo", "tools": [
            {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}]})["id"]
        paths = []
        for _ in range(2):
            run = self.ask("POST", "/threads/runs", {"assistant_id": assistant, "thread": {
                "messages": [{"role": "user", "content": "outside"}]}})
            paths.append(f"/threads/{run['thread_id']}/runs/{run['id']}")
        actions = [self.settle(path, "requires_action", *FINAL)["required_action"] for path in paths]
        for action in actions[:1]:
            for call in action["submit_tool_outputs"]["tool_calls"] if action else []:
                self.ask("POST", f"/runnel/approvals/{call['id']}", {
                    "approve": True, "remember": {"match": "pattern", "scope": "assistant"}})
        for path, action in zip(paths, actions):
            # One that has failed asks nobody, and allows nothing.
            if action and actions[0]:
                assert self.settle(path, *FINAL)["status"] in ("completed", "failed")

    def results(self):
        """The answer about a result, through the list and with a response."""
        tools = [{"type": "mcp", "server_label": "basic", "server_url": "builtin:basic"}]
        more = {"model": "demo", "tools": tools,
                "runnel": {"permissions": {"basic": {"result": "always"}}}}
        asked = [self.ask("POST", "/responses", {**more, "input": "the time"}) for _ in range(2)]
        ids = [response["output"][-1]["id"] for response in asked]
        self.ask("POST", f"/runnel/approvals/{ids[0]}", {"approve": True})
        self.ask("POST", "/responses", {**more, "previous_response_id": asked[1]["id"], "input": [{
            "type": "mcp_approval_response", "approval_request_id": ids[1], "approve": False}]},
            (200, 409))

    def go(self, upstream):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": ANSWER}},
                        {"match": {"user": "the time twice"}, "answer": {"tool_calls": [
                            {"name": "datetime", "id": f"call_{n}", "arguments": {}} for n in (1, 2)]}},
                        {"match": {"user": "the time"}, "answer": {"tool_calls": [
                            {"name": "datetime", "id": "call_1", "arguments": {}}]}},
                        {"match": {"user": "the skill"}, "answer": {"tool_calls": [
                            {"name": "skill", "id": "call_1", "arguments": {"name": "tour"}}]}},
                        *WEATHER_RULES[:1], {"match": {"tool": "get_weather"},
                                             **WEATHER_RULES[1]},
                        {"match": {"user": "outside"}, "answer": {"tool_calls": [
                            {"name": "test_outside", "id": "call_1", "arguments": {
                                "path": "/dev/null", "paths": ["shared:/docs/a"], "text": "r"}}]}},
                        {"match": {"user": "slowly"}, "answer": {"text": ANSWER, "delay_ms": 60000}},
                        {"answer": {"text": ANSWER}})
        self.assistants()
        self.responses()
        self.conversations()
        self.prompts()
        self.skills()
        self.tool_settings()
        self.approvals()
        self.results()
        self.variables()
        self.decided_run()
        self.covered_run()
