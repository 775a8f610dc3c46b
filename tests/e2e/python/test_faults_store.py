"""Every statement fails once; what the client got is true, and a retry helps."""

import contextlib
import pathlib
import re
import subprocess

import pytest

from harness import shapes
from harness.faults import listen
from harness.process import Process
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import asks_for, call
from harness.tour import FAILURES, Tour

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STORE = pathlib.Path(__file__).resolve().parents[3] / "core/store"

# Those that a server says once at its start, those of other subcommands, and those that a writer
# sends with others (its faults are writer.*), or that notify other servers (test_wakeups.c). Those of the
# keeper's hourly round, and of histories beyond max_items, which a tour does not reach. Those of files fail in
# tests/integration, test_blob.c, test_files.c and test_uploads.c, those of containers in test_containers.c and
# test_container_files.c there, those of pictures in test_kept_pictures.py, those of vector stores in test_vector_stores.c and test_documents.c
# there, and in test_vector_stores.py; those of embeddings in test_document_vectors.c and test_embedding_models.c, and
# those of a thread's own store in test_thread_store.c. Those of repeats under an Idempotency-Key
# and of deletion marks fail in test_conversations.c, test_threads.c and test_assistants.c. Those of runs that are left to
# the node of their container fail in test_faults_containers.py.
ELSEWHERE = re.compile(r"group_|writer_|migrate|ensure_|put_key|store_key_(list|revoke|ensure)|"
                       r"begin|commit|rollback|events_|drop_lease|store_schema|submit_is_repeat|"
                       r"(items|calls|steps|approvals|variables)_upsert|(runs|leases)_insert_missing|key_opens|idempotency_forget|"
                       r"thread_message_count|conversation_item_count|items_append|import_|store_secret_|"
                       r"wakeups_|find_project|deletion_marks_forget|load_(chain|thread)_rules|"
                       r"store_blob|store_storage_check|store_containers?_(?!end_owned)|store_file|store_upload|store_store_file|(store_)?vector_store|store_document|store_(search_(set|all|marks)|segments|chunks)|"
                       r"conversation_find_appended|idempotency_replace|store_(embedding|reindex|pgvector)_|thread_store_|"
                       r"(run|submit)_leave_to|container_node_find|store_picture")

# What only a crash makes necessary, or a run that lasts.
RECOVERY = ["claim_leases", "claim_run", "store_events_read", "load_thread_items", "load_steps",
            "load_calls", "load_chain_items", "load_own_items", "store_runs_fail_foreground"]
TOURED_TOO = ["load_thread_items", "load_steps", "load_calls", "load_chain_items"]
# What the keeper does about what was deleted, when its time has come.
PURGE = ["purge_find", "purge_lock_thread", "purge_lock_run", "purge_keep", "purge_remove",
         "purge_left_items"]
# What only a response that waits for answers does.
HOLDS = ["approvals_lock_held", "approvals_leave", "store_approvals_answered"]
# What needs boxes.
SCRIPTS = [f"store_script_{end}" for end in ("put", "get", "list_asc", "list_desc", "list_cursor", "delete")]
HEARTBEAT = ["note_node", "store_leases_renew", "store_leases_give_back", "store_stalled_end",
             "checks_find"]


def statements():
    text = "".join(path.read_text() for path in sorted(STORE.rglob("*.c")))
    names = re.findall(r'\{\s*"([a-z]+_[a-z_]+)",\s*(?:"[A-Z]|[A-Z_]+\()', text)
    found = sorted({name for name in names if not ELSEWHERE.match(name)})
    assert len(found) >= 140, "the statements are somewhere else"
    return found


TOURED = [name for name in statements()
          if name in TOURED_TOO or name not in RECOVERY + HEARTBEAT + PURGE + HOLDS + SCRIPTS]


# A tour takes longer than what goes wrong in it. So several statements fail in one, far apart in the sources. All of
# them may fail in one request, which is repeated as often.
TOURS = [TOURED[i::len(TOURED) // FAILURES + 1] for i in range(len(TOURED) // FAILURES + 1)]


@pytest.fixture
def tour(fault_server, upstream, database):
    def go(*entries):
        """What has fired."""
        fault_server.arm(*entries)
        tour = Tour(fault_server)
        tour.go(upstream)
        fired = fault_server.fired_points()
        fault_server.arm()
        shapes.check_database(database, fault_server.settings["database_url"])
        fault_server.forgets_its_runs()
        return fired
    return go


@pytest.mark.parametrize("statements", TOURS, ids=" ".join)
def test_failing_statements_are_survived(tour, statements):
    fired = tour(*[f"{statement}:1" for statement in statements])
    assert sorted(fired) == sorted(statements), "was never said"


@pytest.mark.parametrize("point", ["store.begin", "store.commit", "store.commit_unanswered",
                                   "store.commit_under_way", "writer.send", "writer.result"])
def test_a_broken_connection_is_survived(tour, point):
    """On some visits; the keeper has a part of them. The schedules of the engine lose every write."""
    for visit in range(1, 60, 14):
        if not tour(f"{point}:{visit}"):
            assert visit > 14
            return


@pytest.mark.parametrize("statement", RECOVERY)
def test_recovery_survives_a_failing_statement(fault_server, upstream, database, statement, tmp_path):
    """Once; then it is tried again."""
    for shape in (shapes.Text, shapes.Background, shapes.Foreground, shapes.InConversation):
        fault_server.arm()
        run = shape(fault_server, upstream, tmp_path)
        fault_server.arm("run.turn_done:1:kill")
        listen(fault_server.api(), *run.beginning())
        assert fault_server.process.child.wait(20) < 0
        fault_server.arm(f"{statement}:1")
        fault_server.start()
        shapes.check_database(database, fault_server.settings["database_url"])
        if fault_server.has_fired():
            return
    raise AssertionError("was never said")


@pytest.mark.parametrize("statement", HEARTBEAT)
def test_a_failing_heartbeat_is_survived(fault_server, upstream, database, statement, tmp_path):
    """Once; then there is another in time."""
    run = shapes.Text(fault_server, upstream, tmp_path)
    upstream.answer(text=run.answer, piece_delay_ms=400)
    fault_server.arm(f"{statement}:1")
    run.walk()
    eventually(fault_server.has_fired)
    run.check(database, fault_server.settings["database_url"])


@pytest.mark.parametrize("statement", HOLDS)
def test_holding_survives_a_failing_statement(fault_server, upstream, statement):
    """Once; then the store is asked again. (F44)"""
    asks_for(upstream, call("datetime"))
    fault_server.arm(f"{statement}:1")
    made = fault_server.sdk().responses.create(
        model="demo", input="go", extra_body={"runnel": {"approval": {
            "channel": "hold", "hold_timeout_s": 3}}},
        tools=[{"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
                "require_approval": "always"}])
    assert made.output[-1].type == "mcp_approval_request"
    eventually(fault_server.has_fired)


@pytest.mark.parametrize("statement", SCRIPTS)
def test_scripts_survive_a_failing_statement(fault_server, binary, statement):
    require_sandbox(binary)
    fault_server.arm(f"{statement}:1")
    Tour(fault_server).scripts()
    assert fault_server.has_fired()


@pytest.mark.parametrize("statement", PURGE)
def test_purging_survives_a_failing_statement(start_fault_server, upstream, database, statement):
    """Once; then there is another time."""
    server = start_fault_server(response_timeout=1)
    client = server.sdk()
    server.arm(f"{statement}:1")
    conversation = client.conversations.create(
        items=[{"type": "message", "role": "user", "content": "Hi"}]).id
    made = client.responses.create(model="demo", input="And?", conversation=conversation).id
    child = client.responses.create(model="demo", input="So?", previous_response_id=made).id
    client.conversations.delete(conversation)
    for response in (made, child):
        client.responses.delete(response)
    eventually(lambda: database.ask("SELECT id FROM runs UNION ALL SELECT id FROM items",
                                    url=server.settings["database_url"]), lambda rows: rows == [])
    assert server.has_fired()


def test_a_run_that_brings_down_every_server_fails(fault_server, upstream, database, tmp_path):
    run = shapes.Text(fault_server, upstream, tmp_path)
    fault_server.arm("run.turn_done:1:kill")
    listen(fault_server.api(), *run.beginning())
    for deaths in range(1, 20):
        try:
            assert fault_server.process.child.wait(5) < 0
        except subprocess.TimeoutExpired:
            break
        fault_server.arm("run.turn_done:1:kill")
        # It may claim the run, and be killed, before it has said that it is ready.
        with contextlib.suppress(AssertionError):
            fault_server.start()
    fault_server.arm()
    assert 3 < deaths < 10
    run.run = run.find()
    assert run.settle("failed") == "failed"
    assert run.run["last_error"]["code"] == "server_error"
    shapes.check_database(database, fault_server.settings["database_url"])
    names = run.log(database, fault_server.settings["database_url"]).names()
    assert names[-1] == "thread.run.failed"


def test_a_run_that_makes_progress_survives_many_servers(fault_server, upstream, tmp_path):
    """A server dies in every one of its turns."""
    run = shapes.Client(fault_server, upstream, tmp_path)
    rounds = 7
    upstream.script({"match": {"tool_results": rounds}, "answer": {"text": run.answer}},
                    {"answer": {"tool_calls": run.calls}})
    run.run = run.insist("POST", *run.beginning())
    path = f"{run.base}/{run.run['id']}/submit_tool_outputs"
    for _ in range(rounds):
        run.settle("requires_action")
        fault_server.arm("run.turn_done:1:kill")
        if run.try_call("POST", path, {"tool_outputs": run.outputs}) is not None:
            fault_server.restart()
        eventually(lambda: run.find()["status"], lambda now: now not in ("queued", "in_progress"))
    assert run.settle("completed", "failed") == "completed", run.run["last_error"]


@pytest.mark.parametrize("shape", [shapes.Text, shapes.ClientStreamed, shapes.ServerTools,
                                   shapes.Background, shapes.BackgroundTools, shapes.Foreground],
                         ids=lambda shape: shape.__name__)
def test_a_refused_write_fails_the_run(fault_server, upstream, database, shape, tmp_path):
    """The database refuses what a run has made: the run fails, and says so."""
    for visit in range(1, 30):
        fault_server.arm()
        run = shape(fault_server, upstream, tmp_path / f"{visit}")
        fault_server.arm(f"writer.refused:{visit}")
        run.walk()
        fired = fault_server.has_fired()
        fault_server.arm()
        if run.run and fired:
            assert run.run["status"] == "failed", run.run
            error = run.run["last_error"] if "last_error" in run.run else run.run["error"]
            assert error["code"] == "server_error"
            # No client was left without an end.
            assert run.seen.endswith("data: [DONE]\n\n")
            assert "thread.run.failed" in run.seen or "response.failed" in run.seen
        if run.run and shape is not shapes.Foreground:
            run.log(database, fault_server.settings["database_url"])
        fault_server.forgets_its_runs()
        shapes.check_database(database, fault_server.settings["database_url"])
        if not fired:
            assert visit > 1
            return
    raise AssertionError("it never ends")


def test_a_server_that_cannot_begin_says_why(fault_server, binary, scratch, database):
    """The first statements of a server fail: it ends with status 1 and a sentence."""
    fault_server.stop()
    for visit in range(1, 20):
        fault_server.arm(f"store.exec:{visit}")
        log = scratch / f"begin-{visit}.log"
        process = Process(["env", f"RUNNEL_FAULT=@{fault_server.faults}", binary, "serve",
                           *fault_server.flags()], log)
        line = process.child.stdout.readline()
        if line:
            process.drain_output()
            assert process.stop() == 0
            break
        assert process.child.wait(20) == 1
        said = [line for line in process.errors().splitlines() if not line.startswith("{")]
        assert len(said) == 1 and said[0], said
    assert visit > 1
    fault_server.arm()
    fault_server.start()
