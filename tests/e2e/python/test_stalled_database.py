"""The database stands still for longer than a lease: a server that is alive keeps its runs."""

import time

import pytest

from harness.server import eventually

pytestmark = pytest.mark.slow

LEASE = 2


@pytest.mark.parametrize("others", [0, 1])
def test_a_stream_continues_while_the_database_stalls(start_fault_server, upstream, database, others):
    server = start_fault_server(lease_ttl=LEASE)
    for _ in range(others):
        start_fault_server(url=server.settings["database_url"], lease_ttl=LEASE)
    words = [f"w{i} " for i in range(40)]
    upstream.answer(text="".join(words), piece_delay_ms=300)
    stream = server.sdk().responses.create(model="demo", input="Hi", stream=True, background=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    frozen = time.monotonic()
    database.freeze()
    try:
        eventually(lambda: time.monotonic() - frozen > 2.5 * LEASE)
    finally:
        database.thaw()
    names = [event.type for event in stream]
    assert names[-1] == "response.completed"
    assert len(upstream.chats()) == 1
    fences = database.ask("SELECT max(attempts) FROM runs", url=server.settings["database_url"])
    assert fences == [["0"]]
