"""Does at random what the Assistants API allows and forbids, and holds every answer against the
reference model (lifecycle.py): status codes, error envelopes, objects, lists, events.

Several threads have runs at the same time. An operation does not wait for the runs that move: a
message may come before, while or after its thread's run ends, and the answer shows which it was.
Some runs are made on a node where they expire in no time.
"""

import collections
import json
import random
import time

from . import lifecycle as model
from .lifecycle import Difference, Refusal, Run, Thread, learn, not_found
from .patience import patience
from .plain import PlainClient
from .recorder import parse_events
from .refusals import PATHS, REFUSALS
from .tools import TIME, WEATHER

ASSISTANTS, THREADS, MESSAGES = 4, 6, 24  # at most; then some are deleted
PAGE = 100  # of the lists that everything is compared with
PATIENCE = patience(30)  # seconds, which only a bug takes


def collapsed(events):
    """Their names, deltas in a row as one."""
    names = [name for name, _ in events]
    return [name for i, name in enumerate(names)
            if not (name.endswith(".delta") and names[i - 1] == name)]


class Walk:
    def __init__(self, seed, node, hasty_node, foreign_key):
        """Runs of the hasty node expire in no time; both nodes know all objects."""
        self.random = random.Random(seed)
        self.nodes = [PlainClient(node), PlainClient(hasty_node)]
        self.stranger = PlainClient(node, foreign_key)
        self.assistants, self.threads = {}, []
        self.gone = {"assistant": "asst_" + "0" * 24, "thread": "thread_" + "0" * 24,
                     "message": "msg_" + "0" * 24, "run": "run_" + "0" * 24,
                     "step": "step_" + "0" * 24}
        self.trace = collections.deque(maxlen=30)
        self.seen = collections.Counter()
        self.number = 0
        self.file = node.http().post("/v1/files", data={"purpose": "assistants"},
                                     files={"file": ("a.txt", b"Read me.")}).json()["id"]
        self.store = node.http().post("/v1/vector_stores", json={}).json()["id"]

    def go(self, steps):
        operations, weights = zip(*OPERATIONS)
        while self.number < steps:
            operation = self.random.choices(operations, weights)[0]
            self.trace.append(f"-- {operation.__name__}")
            if operation(self):
                self.number += 1
                self.seen[operation.__name__] += 1
        for thread in list(self.threads):
            self.check(thread)

    def close(self):
        for client in (*self.nodes, self.stranger):
            client.close()

    # -- asking --

    def ask(self, method, path, body=None, client=None):
        client = client or self.random.choice(self.nodes)
        answer = client.ask(method, path, body)
        text = "" if body is None else json.dumps(body)
        sent = f"{method} {path} {text[:200]}\n       {answer.status} {answer.text[:200]}"
        if sent not in list(self.trace)[-1:]:
            self.trace.append(sent)
        return answer

    def get(self, path, **query):
        text = "&".join(f"{key}={value}" for key, value in query.items() if value is not None)
        answer = self.ask("GET", f"{path}?{text}" if text else path)
        assert answer.status == 200, answer.text
        return answer.json()

    def accepted(self, answer, expected):
        if answer.status != 200:
            raise Difference(f"refused: {answer.text}")
        return learn(expected, answer.json())

    def refused(self, answer, *refusals):
        """With one of them."""
        for refusal in refusals:
            if answer.status == refusal.status and answer.json() == refusal.body():
                return refusal
        raise Difference(f"expected {refusals},\n    got {answer.status} {answer.text}")

    # -- choosing --

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, entries):
        entries = list(entries)
        return self.random.choice(entries) if entries else None

    def any_thread(self):
        return self.pick(self.threads)

    def any_run(self, *statuses):
        """Rather one that is not over."""
        runs = [run for thread in self.threads for run in thread.runs]
        if statuses:
            runs = [run for run in runs if run.known in statuses]
        active = [run for run in runs if run.may_be_active()]
        return self.pick(active if active and self.chance(0.8) else runs)

    def some_message(self, last_role=None):
        words = self.random.choice(["sun", "rain", "snow", "wind ü", "fog 🎉"])
        content = self.random.choice([
            words, [{"type": "text", "text": words}],
            [{"type": "text", "text": words},
             {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]])
        role = last_role or self.random.choice(["user", "user", "assistant"])
        if role == "assistant":
            content = words
        body = {"role": role, "content": content}
        if self.chance(0.2):
            body["metadata"] = self.some_metadata()
        if self.chance(0.1):
            body["attachments"] = [{"file_id": self.file, "tools": [{"type": "code_interpreter"}]}]
        return body

    def some_metadata(self):
        return {f"k{n}": self.random.choice("xyz") for n in range(self.random.randrange(4))}

    # -- comparing --

    def look_at(self, run):
        """The run as it is now; when it has come to rest, its steps and messages, too."""
        actual = self.get(f"/threads/{run.thread.id}/runs/{run.id}")
        self.take_in(run, actual)

    def take_in(self, run, actual):
        """Takes in what an answer shows of a run."""
        status, over = actual["status"], run.known in model.FINAL
        run.observe(status)
        if status in model.FINAL and not over or run.moving and status == "requires_action":
            self.comes_to_rest(run, status)
        run.seen(actual)

    def take_event(self, run, data):
        """Metadata that was changed while the run went on need not be in its events."""
        actual = json.loads(data)
        self.take_in(run, {**actual, "metadata": run.shown["metadata"]})

    def comes_to_rest(self, run, status):
        base = f"/threads/{run.thread.id}"
        steps = self.get(f"{base}/runs/{run.id}/steps", order="asc", limit=PAGE)["data"]
        said = self.get(f"{base}/messages", run_id=run.id, order="asc", limit=PAGE)["data"]
        said = [message for message in said if message["role"] == "assistant"]
        kept = [message for message in run.messages if message in run.thread.messages]
        said = [message.shown for message in run.messages if message not in kept] + said
        if status in ("cancelled", "expired"):
            run.stop(status, steps, said)
        else:
            run.rest(status)
        self.learn_items(run, steps, said)

    def learn_items(self, run, steps, said):
        run.steps = learn(run.steps, steps, "steps")
        shown = learn([message.shown for message in run.messages], said, "messages of the run")
        for message, its in zip(run.messages, shown):
            message.shown = its
        named = [step["step_details"]["message_creation"]["message_id"] for step in run.steps
                 if step["type"] == "message_creation"]
        learn([message.id for message in run.messages], named, "messages that steps name")

    def settle(self, run):
        """Waits until it stands still; False if only time could do that."""
        deadline = time.monotonic() + PATIENCE
        if run.moving and (run.cancelling or run.now.rest in model.FINAL):
            self.ask("GET", f"/threads/{run.thread.id}/runs/{run.id}/events", client=run.node)
        while run.moving:
            assert time.monotonic() < deadline, f"{run.id} is still {run.known}"
            self.look_at(run)
            if run.moving and run.now is model.hang and not run.cancelling:
                self.look_for_hanging(run)
        return not (run.expires and run.may_be_active())

    def look_for_hanging(self, run):
        """It hangs when its message has begun."""
        said = self.get(f"/threads/{run.thread.id}/messages", limit=1)["data"]
        if said and said[0]["run_id"] == run.id and said[0]["status"] == "in_progress" and \
                len(run.messages) < sum(1 for turn in run.plan[:run.turn + 1] if turn.text):
            self.comes_to_rest(run, "in_progress")

    def calm(self, thread):
        """Nothing moves in the thread any more; False if only time could see to that."""
        run = thread.active_run()
        return run is None or self.settle(run)

    def check(self, thread):
        """All of a thread that stands still."""
        if not self.calm(thread):
            return
        learn(thread.shown, self.get(f"/threads/{thread.id}"), "thread")
        self.learn_messages(thread)
        listed = self.get(f"/threads/{thread.id}/runs", limit=PAGE)
        shown = [{**run.expected(run.known), "thread_id": thread.id} for run in thread.runs]
        learn(model.page(shown, PAGE), listed, "runs")

    def learn_messages(self, thread):
        order = self.random.choice(["asc", "desc"])
        listed = self.get(f"/threads/{thread.id}/messages", order=order, limit=PAGE)
        actual = listed["data"] if order == "asc" else listed["data"][::-1]
        shown = learn([message.shown for message in thread.messages], actual, "messages")
        for message, its in zip(thread.messages, shown):
            message.shown = its
        learn(model.page(shown, PAGE, order), listed, "messages")

    def in_the_way(self, thread, answer):
        """The run that locks the thread. While one moves only the answer knows."""
        run = thread.active_run()
        if run is None or run.must_be_active() or answer.status == 400:
            return run
        self.settle(run)
        if run.may_be_active():
            self.look_at(run)
        if run.may_be_active():
            raise Difference(f"{run.id} is {run.known}, but its thread was not locked")
        return None

    # -- assistants --

    def create_assistant(self):
        if len(self.assistants) >= ASSISTANTS:
            return False
        choices = {"name": "A", "description": "D", "instructions": "Be brief.",
                   "metadata": self.some_metadata(), "temperature": 0.5, "top_p": 0.25,
                   "response_format": {"type": "text"}, "reasoning_effort": "low"}
        body = {"model": "demo", "tools": [WEATHER],
                **{key: value for key, value in choices.items() if self.chance(0.4)}}
        made = self.accepted(self.ask("POST", "/assistants", body), model.new_assistant(body))
        self.assistants[made["id"]] = made
        return True

    def modify_assistant(self):
        id = self.pick(self.assistants)
        if not id:
            return False
        changes = self.random.choice([{"name": "B"}, {"instructions": "Be long."}, {},
                                      {"metadata": self.some_metadata()}, {"temperature": 1.5},
                                      {"name": None}])
        expected = {**self.assistants[id], **changes}
        self.assistants[id] = self.accepted(self.ask("POST", f"/assistants/{id}", changes),
                                            expected)
        self.accepted(self.ask("GET", f"/assistants/{id}"), expected)
        return True

    def delete_assistant(self):
        id = self.pick(self.assistants)
        if not id or len(self.assistants) < 2:
            return False
        self.accepted(self.ask("DELETE", f"/assistants/{id}"),
                      {"id": id, "object": "assistant.deleted", "deleted": True})
        del self.assistants[id]
        self.gone["assistant"] = id
        return True

    def list_assistants(self):
        self.check_page("/assistants", list(self.assistants.values()))
        return True

    # -- threads --

    def create_thread(self):
        if len(self.threads) >= THREADS:
            return False
        body = {"messages": [self.some_message() for _ in range(self.random.randrange(4))]}
        if self.chance(0.3):
            body["metadata"] = self.some_metadata()
        if self.chance(0.2):
            body["tool_resources"] = {"code_interpreter": {"file_ids": [self.file]}}
        shown = self.accepted(self.ask("POST", "/threads", body), model.new_thread(body))
        thread = Thread(shown)
        thread.messages = [model.Message(model.new_message(thread.id, message))
                           for message in body["messages"]]
        self.threads.append(thread)
        self.check(thread)
        return True

    def modify_thread(self):
        thread = self.any_thread()
        if not thread:
            return False
        changes = self.random.choice([{}, {"metadata": self.some_metadata()}, {"metadata": {}},
                                      {"tool_resources": {"file_search": {
                                          "vector_store_ids": [self.store]}}}])
        thread.shown = self.accepted(self.ask("POST", f"/threads/{thread.id}", changes),
                                     {**thread.shown, **changes})
        self.check(thread)
        return True

    def delete_thread(self):
        """Also with a run that is going on."""
        thread = self.any_thread()
        if not thread or len(self.threads) < 3:
            return False
        self.accepted(self.ask("DELETE", f"/threads/{thread.id}"),
                      {"id": thread.id, "object": "thread.deleted", "deleted": True})
        self.threads.remove(thread)
        self.gone["thread"] = thread.id
        for path, kind, id in [("", "thread", thread.id), ("/messages", "thread", thread.id),
                               ("/runs", "thread", thread.id)] + [
                (f"/runs/{run.id}", "thread", thread.id) for run in thread.runs[-1:]]:
            self.refused(self.ask("GET", f"/threads/{thread.id}{path}"), not_found(kind, id))
        return True

    def fork_thread(self):
        source = self.any_thread()
        if not source or len(self.threads) >= THREADS or not self.calm(source):
            return False
        made = Thread(self.accepted(self.ask("POST", f"/runnel/threads/{source.id}/fork"),
                                    {**source.shown, "id": model.Unknown("thread"),
                                     "created_at": model.TIME}))
        made.take(source.said())
        self.threads.append(made)
        self.check(made)
        self.check(source)
        return True

    def copy_thread(self):
        return self.put("copy_to")

    def merge_thread(self):
        return self.put("merge_to")

    def put(self, verb):
        source, target = self.any_thread(), self.any_thread()
        if not source or not self.calm(source) or not self.calm(target):
            return False
        if len(source.messages) + len(target.messages) > PAGE - MESSAGES:
            return False  # runs will add more
        answer = self.ask("POST", f"/runnel/threads/{source.id}/{verb}/{target.id}")
        run = target.active_run()
        if source is target:
            self.refused(answer, Refusal(400, "Invalid 'to': a thread cannot be put into itself.",
                                         "to", "invalid_value"))
        elif run:
            self.refused(answer, model.locked(target, run))
        else:
            self.accepted(answer, target.shown)
            if verb == "copy_to":
                target.messages = []
                target.take(source.said())
            else:
                target.take(target.lacks(source.said()))
        self.check(target)
        return True

    # -- messages --

    def create_message(self):
        thread = self.any_thread()
        if not thread or len(thread.messages) >= MESSAGES:
            return False
        body = self.some_message()
        answer = self.ask("POST", f"/threads/{thread.id}/messages", body)
        run = self.in_the_way(thread, answer)
        if run:
            self.refused(answer, model.locked(thread, run))
        else:
            shown = self.accepted(answer, model.new_message(thread.id, body))
            thread.messages.append(model.Message(shown))
        if self.chance(0.5):
            self.check(thread)
        return True

    def some_old_message(self):
        """One that nothing is about to change."""
        thread = self.any_thread()
        message = thread and self.pick(thread.messages)
        run = thread and thread.active_run()
        if not message or isinstance(message.id, model.Unknown) or (
                run and message in run.messages and (run.moving or run.expires)):
            return None, None
        return thread, message

    def modify_message(self):
        """Also while a run is active: it does not look at metadata."""
        thread, message = self.some_old_message()
        if not message:
            return False
        changes = self.random.choice([{}, {"metadata": self.some_metadata()}])
        path = f"/threads/{thread.id}/messages/{message.id}"
        message.shown = self.accepted(self.ask("POST", path, changes),
                                      {**message.shown, **changes})
        self.accepted(self.ask("GET", path), message.shown)
        self.check(thread)
        return True

    def delete_message(self):
        thread, message = self.some_old_message()
        if not message:
            return False
        path = f"/threads/{thread.id}/messages/{message.id}"
        answer = self.ask("DELETE", path)
        run = self.in_the_way(thread, answer)
        if run:
            self.refused(answer, model.locked(thread, run))
            return True
        self.accepted(answer, {"id": message.id, "object": "thread.message.deleted",
                               "deleted": True})
        thread.messages.remove(message)
        self.gone["message"] = message.id
        self.refused(self.ask("GET", path), not_found("message", message.id))
        self.check(thread)
        return True

    def list_messages(self):
        thread = self.any_thread()
        if not thread or not self.calm(thread):
            return False
        self.learn_messages(thread)
        run = self.pick(thread.runs) if self.chance(0.3) else None
        shown = [message.shown for message in thread.messages
                 if not run or message.shown["run_id"] == run.id]
        self.check_page(f"/threads/{thread.id}/messages", shown, run_id=run.id if run else None)
        return True

    def check_page(self, path, entries, **query):
        """A page of a list, from anywhere in it."""
        if self.chance(0.1):
            cursor = self.random.choice(["after", "before"])
            self.refused(self.ask("GET", f"{path}?{cursor}=nobody"), Refusal(
                400, f"Invalid '{cursor}': 'nobody'. Expected the ID of an object in this list.",
                cursor, "invalid_value"))
        where = {"limit": self.random.choice([0, 1, 2, 3, PAGE]),
                 "order": self.random.choice(["asc", "desc"])}
        for cursor in ("after", "before"):
            entry = self.pick(entries) if self.chance(0.4) else None
            if entry:
                where[cursor] = entry["id"]
        learn(model.page(entries, **where), self.get(path, **where, **query), "page")

    # -- runs --

    def create_run(self):
        thread, assistant = self.any_thread(), self.pick(self.assistants.values())
        if not thread or not assistant or len(thread.messages) >= MESSAGES:
            return False
        plan, body, hasty = self.some_run(assistant)
        answer = self.ask("POST", f"/threads/{thread.id}/runs", body, self.nodes[hasty])
        run = self.in_the_way(thread, answer)
        if run:
            self.refused(answer, model.busy(thread, run))
            return True
        self.begin(thread, assistant, plan, body, answer, hasty, [])
        return True

    def create_thread_and_run(self):
        assistant = self.pick(self.assistants.values())
        if len(self.threads) >= THREADS or not assistant:
            return False
        plan, body, hasty = self.some_run(assistant)
        body["thread"] = {"messages": [*body.pop("additional_messages"),
                                       self.some_message("user")]}
        body.pop("additional_instructions", None)
        answer = self.ask("POST", "/threads/runs", body, self.nodes[hasty])
        thread = Thread(model.new_thread({}))
        self.threads.append(thread)
        first = self.first_run(answer) if answer.status == 200 else {}
        thread.shown["id"] = first.get("thread_id")
        self.begin(thread, assistant, plan, body, answer, hasty, ["thread.created"])
        thread.shown = learn(thread.shown, self.get(f"/threads/{thread.id}"))
        return True

    def first_run(self, answer):
        if "stream" not in answer.headers["content-type"]:
            return answer.json()
        return next(json.loads(data) for name, data in parse_events(answer.text)
                    if name == "thread.run.created")

    def some_run(self, assistant):
        """Its plan, its body, and the node to send it to."""
        hasty = self.chance(0.1) and not any(
            run.expires and run.may_be_active() for thread in self.threads
            for run in thread.runs)
        names = [name for name in model.PLANS if not hasty or "hang" in name or "call" in name]
        plan = self.random.choice(names)
        body = {"assistant_id": assistant["id"], "instructions": f"plan {plan}.",
                "additional_messages": [self.some_message()
                                        for _ in range(self.random.randrange(2))]}
        body["additional_messages"].append(self.some_message("user"))
        choices = {"metadata": self.some_metadata(), "temperature": 0.75, "top_p": 0.5,
                   "additional_instructions": "Please.", "parallel_tool_calls": False,
                   "tools": [TIME, WEATHER], "model": "demo"}
        # Then a turn has one call, which test_runs.py looks at. The plans with more are for several.
        if any(len(turn.calls) > 1 for turn in model.PLANS[plan]):
            del choices["parallel_tool_calls"]
        body.update({key: value for key, value in choices.items() if self.chance(0.15)})
        if self.chance(0.3) and not hasty and model.hang not in model.PLANS[plan]:
            body["stream"] = True
        return plan, body, hasty

    def begin(self, thread, assistant, plan, body, answer, hasty, before):
        if answer.status != 200:
            raise Difference(f"refused: {answer.text}")
        run = Run(thread, assistant, plan, body, expires=bool(hasty))
        run.events = before + run.events
        run.node = self.nodes[hasty]
        first = self.first_run(answer)
        run.seen(first)
        given = body.get("additional_messages") or body["thread"]["messages"]
        for message in given:
            shown = model.new_message(thread.id, message)
            thread.messages.append(model.Message({**shown, "run_id": model.Unknown("any")}))
        thread.runs.append(run)
        if body.get("stream"):
            self.take_stream(run, answer, 0)
        elif self.chance(0.5):
            self.settle(run)

    def take_stream(self, run, answer, begun):
        """It ends when the run rests, and has all events since number `begun`."""
        events = parse_events(answer.text)
        self.take_event(run, events[-2][1])
        learn(run.events[begun:] + ["done"], collapsed(events), "events")

    def read_run(self):
        run = self.any_run()
        if not run:
            return False
        self.look_at(run)
        return True

    def modify_run(self):
        run = self.any_run()
        if not run:
            return False
        changes = self.random.choice([{}, {"metadata": self.some_metadata()}])
        answer = self.ask("POST", f"/threads/{run.thread.id}/runs/{run.id}", changes)
        run.shown.update(changes)
        if answer.status != 200:
            raise Difference(answer.text)
        self.take_in(run, answer.json())
        return True

    def settle_run(self):
        run = self.any_run("queued", "in_progress", "requires_action")
        if not run:
            return False
        self.settle(run)
        self.check(run.thread)
        return True

    def list_runs(self):
        thread = self.any_thread()
        if not thread or not self.calm(thread):
            return False
        self.check_page(f"/threads/{thread.id}/runs", [run.expected(run.known)
                                                       for run in thread.runs])
        return True

    def read_steps(self):
        run = self.any_run()
        if not run or not self.calm(run.thread):
            return False
        base = f"/threads/{run.thread.id}/runs/{run.id}/steps"
        self.check_page(base, run.steps)
        step = self.pick(run.steps)
        if step:
            learn(step, self.get(f"{base}/{step['id']}"), "step")
        return True

    def replay_run(self):
        """The events of a run over all its streams."""
        run = self.any_run(*model.FINAL)
        if not run or not run.whole:
            return False
        answer = self.ask("GET", f"/threads/{run.thread.id}/runs/{run.id}/events")
        learn(run.events + ["done"], collapsed(parse_events(answer.text)), "events of all streams")
        return True

    # -- cancelling --

    def cancel_run(self):
        run = self.any_run()
        if not run or run.cancelling:
            return False
        node = run.node if self.chance(0.9) else None  # others notice with their next heartbeat
        answer = self.ask("POST", f"/threads/{run.thread.id}/runs/{run.id}/cancel", client=node)
        ends = run.possible() & set(model.FINAL)
        if answer.status == 200 and run.may_be_active():
            run.cancel()
            actual = answer.json()
            learn("cancelling", actual["status"], "status")
            run.seen(actual)
        else:
            self.refused(answer, *map(model.not_cancellable, ends))
        if self.chance(0.7):
            self.settle(run)
        return True

    # -- submitting --

    def submit(self):
        run = self.any_run("requires_action") if self.chance(0.9) else self.any_run()
        if not run:
            return False
        outputs = self.some_outputs(run)
        stream = self.chance(0.3) and not run.expires and model.hang not in run.plan
        begun = len(run.events)
        node = self.random.choice(self.nodes)
        answer = self.ask(
            "POST", f"/threads/{run.thread.id}/runs/{run.id}/submit_tool_outputs",
            {"tool_outputs": [{"tool_call_id": call, "output": text} for call, text in outputs],
             **({"stream": True} if stream else {})}, node)
        fits = sorted(call for call, _ in outputs) == sorted(run.now.calls)
        if answer.status == 200 and fits and "requires_action" in run.possible():
            run.node = node
            self.submitted(run, outputs, answer, stream, begun)
        elif run.is_repeat(outputs):
            self.answered_again(run, answer, stream)
        else:
            self.not_submitted(run, outputs, answer, fits)
        return True

    def some_outputs(self, run):
        calls = list(run.now.calls) or ["call_1"]
        if run.accepted and self.chance(0.2):
            return self.random.sample(run.accepted, len(run.accepted))
        if self.chance(0.3):
            calls = self.random.choice([calls[1:], calls + ["call_9"], calls + calls[:1],
                                        ["call_9"], [call + "0" for call in calls]])
        self.random.shuffle(calls)
        return [(call, self.random.choice(["sunny", "wet", "", "5 °C"])) for call in calls]

    def submitted(self, run, outputs, answer, stream, begun):
        if run.moving:
            run.rest("requires_action")
            begun = len(run.events)
        run.submit(outputs)
        if stream:
            self.take_stream(run, answer, begun)
            return
        actual = answer.json()
        learn("queued", actual["status"], "status")
        run.seen(actual)
        if self.chance(0.5):
            self.settle(run)

    def answered_again(self, run, answer, stream):
        """As the run is now, or with what has come of it since then."""
        if answer.status != 200:
            raise Difference(answer.text)
        if not stream:
            self.take_in(run, answer.json())
            return
        events = parse_events(answer.text)
        self.take_event(run, events[-2][1])
        if run.whole:
            learn(run.events[run.begun:] + ["done"], collapsed(events), "events")

    def not_submitted(self, run, outputs, answer, fits):
        possible = run.possible()
        refusals = [model.not_waiting(status) for status in possible - {"requires_action"}]
        if "requires_action" in possible and not fits:
            refusals.append(model.unfit(run.now.calls, [call for call, _ in outputs]))
        self.refused(answer, *refusals)

    # -- what is refused --

    def wrong_id(self):
        """Everything right but one id of the path: no id at all, nobody's, another object's."""
        method, path, body = self.random.choice(PATHS)
        ids = self.some_ids()
        if not ids:
            return False
        kind = self.random.choice([name for name in ids if "{%s}" % name in path])
        wrong = self.random.choice([None, self.gone[kind], ids[f"other {kind}"]])
        thread = ids["in"]
        if wrong is None:
            prefix = {"assistant": "asst", "message": "msg"}.get(kind, kind)
            expected = model.malformed(f"{kind}_id", "nobody", prefix)
        elif wrong == ids[kind]:
            return False
        else:
            expected = not_found({"step": "run step"}.get(kind, kind), wrong)
        ids[kind] = wrong or "nobody"
        full = path.format(**{key: value for key, value in ids.items() if key in self.gone})
        answer = self.ask(method, full, body)
        run = thread.active_run()
        takes = method == "DELETE" and kind == "message" and wrong
        self.refused(answer, expected, *([model.locked(thread, run)] if run and takes else []))
        return True

    def foreign_key(self):
        """Everything right but the key, which is another project's."""
        method, path, body = self.random.choice(PATHS)
        ids = self.some_ids()
        if not ids:
            return False
        first = "assistant" if path.startswith("/assistants") else "thread"
        full = path.format(**{key: value for key, value in ids.items() if key in self.gone})
        self.refused(self.ask(method, full, body, self.stranger), not_found(first, ids[first]))
        self.check(ids["in"])
        return True

    def some_ids(self):
        """One object of each kind that belong together, and one that does not."""
        runs = [run for thread in self.threads for run in thread.runs if run.steps and thread.messages
                and not isinstance(run.steps[0]["id"], model.Unknown)]
        run, others = self.pick(runs), [thread for thread in self.threads]
        message = run and self.pick(m for m in run.thread.messages
                                    if not isinstance(m.id, model.Unknown))
        if not run or not message or not self.assistants:
            return None
        other = self.pick(other for other in others if other is not run.thread)
        other_run = other and self.pick(r for r in runs if r.thread is other)
        other_message = other and self.pick(m for m in other.messages
                                            if not isinstance(m.id, model.Unknown))
        other_step = self.pick(r for r in runs if r is not run)
        return {"assistant": self.pick(self.assistants), "thread": run.thread.id,
                "run": run.id, "message": message.id, "step": run.steps[0]["id"],
                "in": run.thread, "other assistant": self.gone["assistant"],
                "other thread": self.gone["thread"],
                "other run": other_run.id if other_run else self.gone["run"],
                "other message": other_message.id if other_message else self.gone["message"],
                "other step": other_step.steps[0]["id"] if other_step else self.gone["step"]}

    def wrong_body(self):
        """Everything right but the body; nothing comes of it."""
        operation = self.random.choice(sorted(REFUSALS))
        ids = self.some_ids()
        if not ids:
            return False
        case = self.random.choice(REFUSALS[operation])
        method, path = operation.split(" ")
        full = path.format(**{key: value for key, value in ids.items() if key in self.gone})
        answer = self.ask(method, full, case.body)
        self.refused(answer, Refusal(400, case.message, case.param, case.code))
        self.check(ids["in"])
        return True


OPERATIONS = [
    (Walk.create_assistant, 4), (Walk.modify_assistant, 2), (Walk.delete_assistant, 1),
    (Walk.list_assistants, 2),
    (Walk.create_thread, 6), (Walk.modify_thread, 3), (Walk.delete_thread, 4),
    (Walk.fork_thread, 3), (Walk.copy_thread, 2), (Walk.merge_thread, 2),
    (Walk.create_message, 10), (Walk.modify_message, 3), (Walk.delete_message, 4),
    (Walk.list_messages, 4),
    (Walk.create_run, 16), (Walk.create_thread_and_run, 6), (Walk.read_run, 6),
    (Walk.modify_run, 4), (Walk.settle_run, 4), (Walk.list_runs, 3), (Walk.read_steps, 4),
    (Walk.replay_run, 3), (Walk.cancel_run, 8), (Walk.submit, 14),
    (Walk.wrong_id, 6), (Walk.foreign_key, 3), (Walk.wrong_body, 6),
]
