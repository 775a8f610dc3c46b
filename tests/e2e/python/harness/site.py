"""A site on loopback, from which the server under test may fetch."""

import contextlib
import http.server
import threading


@contextlib.contextmanager
def opened_site(handler, **state):
    """Serves with the handler until the end. It has `asked`, for the handler to note what was asked, `place`, `url`,
    and what else a test wants to share with the handler."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.asked, server.let_go = [], threading.Event()
    server.place = f"127.0.0.1:{server.server_port}"
    server.url = f"http://{server.place}"
    for name, value in state.items():
        setattr(server, name, value)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.let_go.set()  # a handler that waits for it ends
        server.shutdown()
        server.server_close()


def may_fetch(site):
    """The lines of a configuration that let the server fetch from it."""
    return f'network: {{allow_internal_hosts: ["{site.place}"]}}\n'
