"""A browser without a window, and the pages that it opens: those of tests/e2e/browser, with one of the
SDKs in them as npm has installed it, by an import map and without a bundler."""

import functools
import http.server
import json
import pathlib
import shutil
import threading

from selenium import webdriver
from selenium.webdriver.common.proxy import Proxy, ProxyType
from selenium.webdriver.remote.client_config import ClientConfig

from .patience import patience
from .process import clean_environment, free_port

E2E = pathlib.Path(__file__).resolve().parents[2]

PAGE = """<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">{}</script>
"""

# What modules, ours and the SDKs' own, ask for by a name that is no path.
NAMES = {
    "openai": "index.mjs",
    "openai/_shims/auto/runtime": "_shims/auto/runtime.mjs",
    "#x509-transport-state": "internal/auth/x509-transport-state.mjs",
}

RUN = """
const [scenario, args, done] = arguments;
import("/browser/page.mjs")
  .then((page) => page[scenario](args))
  .then((value) => done({ value }), (error) => done({ error: `${error}\\n${error?.stack}` }));
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not self.path.startswith("/page/"):
            super().do_GET()
            return
        sdk = self.path.removeprefix("/page/")
        imports = {name: f"/node/node_modules/{sdk}/{path}" for name, path in NAMES.items()}
        page = PAGE.format(json.dumps({"imports": imports})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


class Site:
    """A web server of another site. It has two names, so its pages have two origins."""

    def __init__(self):
        handler = functools.partial(Handler, directory=E2E)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.other_origin = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """Chromium, as its driver starts it: what it writes is below `directory`, whom it reaches is this
    machine, and it ends with its driver, which holds its pipe. Its sandbox needs what containers and
    root do not have; the pages are ours."""

    def __init__(self, directory):
        self.directory = directory
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in [
            "headless=new", "no-sandbox", "remote-debugging-pipe", f"user-data-dir={directory}/profile",
            "disable-dev-shm-usage", "disable-gpu", "no-first-run", "no-proxy-server",
            "disable-background-networking", "disable-component-update", "disable-sync",
            "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
        ]:
            options.add_argument(f"--{argument}")
        self.service = webdriver.ChromeService(
            shutil.which("chromedriver"), port=free_port(),
            env={**clean_environment(), "HOME": str(directory), "TMPDIR": str(directory),
                 "XDG_CONFIG_HOME": str(directory), "XDG_CACHE_HOME": str(directory)})
        self.service.start()
        try:
            url = self.service.service_url
            direct = ClientConfig(url, proxy=Proxy({"proxyType": ProxyType.DIRECT}))
            self.driver = webdriver.Remote(url, options=options, client_config=direct)
        except BaseException:
            self.service.stop()
            raise
        self.driver.set_script_timeout(patience(30))

    def open(self, origin, sdk="openai"):
        self.driver.get(f"{origin}/page/{sdk}")

    def run(self, scenario, **args):
        """What that function of the page answers; one that fails there fails here."""
        answer = self.driver.execute_async_script(RUN, scenario, args)
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def close_page(self):
        """As a user closes it, so that nothing of it is kept for going back to it."""
        page = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        another = self.driver.current_window_handle
        self.driver.switch_to.window(page)
        self.driver.close()
        self.driver.switch_to.window(another)

    def close(self):
        try:
            self.driver.quit()
        finally:
            self.service.stop()
            shutil.rmtree(self.directory, ignore_errors=True)


def is_here():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))
