"""F109: pages that go wrong. Each ends its call with a code and a sentence for the model, and the run goes on."""

import gzip
import http.server
import json
import os
import signal
import socket
import threading
import time

import pytest

from harness.patience import patience
from harness.pdf import pdf
from harness.server import eventually
from harness.site import may_fetch, opened_site
from harness.tools import call

GROUP = {"type": "mcp", "server_label": "web", "server_url": "builtin:web"}
FREE = "tools: {permissions: {web: {execution: auto, result: never}}}\n"
JAPANESE = "日本語のページです。お茶は八十度で淹れます。"
CHINESE = "这是中文网页。泡茶用八十度的水。"
EUROPEAN = "Ein Döner für 5 €, naïve façade – “quoted”"


def html(text, meta=None):
    said = f'<meta charset="{meta}">' if meta else ""
    return f"<html><head>{said}<title>T</title></head><body><main><p>{text}</p></main></body></html>"


# path: bytes, content type, text
ENCODED = {
    "/shift-jis": (html(JAPANESE).encode("shift_jis"), "text/html; charset=Shift_JIS", JAPANESE),
    "/shift-jis-meta": (html(JAPANESE, "shift_jis").encode("shift_jis"), "text/html", JAPANESE),
    "/euc-jp": (html(JAPANESE).encode("euc-jp"), "text/html; charset=EUC-JP", JAPANESE),
    "/gb18030": (html(CHINESE).encode("gb18030"), "text/html; charset=gb18030", CHINESE),
    "/gb2312-meta": (html(CHINESE, "gb2312").encode("gbk"), "text/html", CHINESE),
    "/windows-1252": (html(EUROPEAN).encode("cp1252"), "text/html; charset=windows-1252", EUROPEAN),
    "/latin-1-said": (html(EUROPEAN).encode("cp1252"), "text/html; charset=iso-8859-1", EUROPEAN),
    "/unsaid": (html(EUROPEAN).encode("cp1252"), "text/html", EUROPEAN),
    "/utf-16": (html(CHINESE).encode("utf-16"), "text/html; charset=utf-16", CHINESE),
    "/bom": (b"\xef\xbb\xbf" + html(CHINESE).encode(), "text/html; charset=iso-8859-1", CHINESE),
    # The header is wrong.
    "/latin-1-but-utf-8": (html(CHINESE).encode(), "text/html; charset=iso-8859-1", CHINESE),
    "/utf-8-but-shift-jis": (html(JAPANESE, "shift_jis").encode("shift_jis"), "text/html; charset=utf-8", JAPANESE),
    "/latin-1-but-utf-8-too": (html("Ein Döner").encode(), "text/html; charset=iso-8859-1", "Ein Döner"),
    "/unknown-name": (html(CHINESE).encode(), "text/html; charset=x-klingon", CHINESE),
    "/plain-shift-jis": (JAPANESE.encode("shift_jis"), "text/plain; charset=Shift_JIS", JAPANESE),
    "/plain-windows-1252": (EUROPEAN.encode("cp1252"), "text/plain; charset=windows-1252", EUROPEAN),
}


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.split("/")[1].replace("-", "_")
        self.server.asked.append(self.path)
        if self.path in ENCODED:
            content, kind, _ = ENCODED[self.path]
            self.give(content, kind)
        else:
            getattr(self, f"go_{name}")()

    def give(self, content, kind="text/html", **headers):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def pour(self, length):
        """As much as is taken, and no more than 2 GiB."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        if length:
            self.send_header("content-length", str(length))
        else:
            self.send_header("connection", "close")
        self.close_connection = True
        try:
            self.end_headers()
            while self.server.poured < 2 << 30:
                self.wfile.write(b"x" * 65536)
                self.server.poured += 65536
        except OSError:
            pass
        self.server.left.set()

    def go_huge_said(self):
        self.pour(2 << 30)

    def go_huge(self):
        self.pour(None)

    def go_bomb(self):
        self.give(gzip.compress(b"\0" * (64 << 20)), content_encoding="gzip")

    def go_hop(self):
        """/hop/2/3: two more redirects, and the third leads inside."""
        left = int(self.path.split("/")[2])
        self.send_response(302)
        self.send_header("location", f"/hop/{left - 1}" if left else "http://169.254.169.254/latest/meta-data")
        self.send_header("content-length", "0")
        self.end_headers()

    def go_drip(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", "1000000")
        self.close_connection = True
        try:
            self.end_headers()
            while not self.server.let_go.wait(0.2):
                self.wfile.write(b"x")
        except OSError:
            pass
        self.server.left.set()

    def go_cut(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b"<p>The first half")
        self.close_connection = True

    def go_pdf(self):
        self.give(pdf("Boil water first.", "Then add tea."), "application/pdf")

    def go_binary(self):
        self.give(b"\x7fELF\0\0\0", "application/octet-stream")

    def go_binary_said_html(self):
        self.give(b"\x7fELF\0\0\0\1\2\3", "text/html")

    def go_deep(self):
        """Its reader is busy for as long as it may."""
        self.give(b"<div>" * 900_000)

    def go_tea(self):
        self.give(html("Boil water first.").encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with opened_site(Site, poured=0, left=threading.Event()) as server:
        yield server


@pytest.fixture
def opened(start_server, site, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(may_fetch(site) + FREE)
    return start_server(config=config)


@pytest.fixture
def fetch(opened, upstream):
    client = opened.sdk()

    def fetch(*urls):
        """What FetchWebPage says of each, the calls side by side."""
        calls = [call("FetchWebPage", number, url=url) for number, url in enumerate(urls)]
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                        {"answer": {"tool_calls": calls}})
        response = client.responses.create(model="demo", input="Read.", tools=[GROUP])
        assert response.status == "completed" and response.output_text == "Done."
        said = {json.loads(item.arguments)["url"]: item.output or item.error.content[0]["text"]
                for item in response.output if item.type == "mcp_call"}
        return [said[url] for url in urls]

    return fetch


def expect_errors(answers, urls, code, message):
    for answer, url in zip(answers, urls, strict=True):
        assert json.loads(answer) == {"code": code, "message": message, "url": url}


@pytest.mark.feature("F109")
@pytest.mark.parametrize("path", ["/huge", "/huge-said"])
def test_a_page_of_2_gib_stops_at_the_limit(fetch, site, path):
    url = site.url + path
    expect_errors(fetch(url), [url], "FETCH_FAILED",
                  "The page is not taken: the answer has more than 5242880 bytes.")
    assert site.left.wait(patience(10))
    assert site.poured < 64 << 20


@pytest.mark.feature("F109")
def test_a_bomb_is_not_unpacked(fetch, site):
    url = site.url + "/bomb"
    expect_errors(fetch(url), [url], "FETCH_FAILED",
                  "The page is not taken: the answer is compressed to less than a 100th of its length.")


@pytest.mark.feature("F109")
def test_no_redirect_leads_into_the_own_network(fetch, site):
    """The first one, the second, ... and the one behind the last that is followed."""
    urls = [f"{site.url}/hop/{hops}" for hops in range(7)]
    answers = fetch(*urls)
    expect_errors(answers[:5], urls[:5], "INVALID_URL", "Its address is not one of the public internet.")
    expect_errors(answers[5:], urls[5:], "FETCH_FAILED", "The page redirects more than 5 times.")


@pytest.mark.feature("F109")
@pytest.mark.slow
def test_a_page_that_drips_ends_by_time(fetch, site):
    began = time.monotonic()
    expect_errors(fetch(site.url + "/drip"), [site.url + "/drip"], "TIMEOUT",
                  "The page did not come within 20 seconds.")
    assert 15 < time.monotonic() - began < patience(60)
    assert site.left.wait(patience(10))


@pytest.mark.feature("F51")
def test_pages_in_old_encodings_are_read(fetch, site):
    answers = fetch(*[site.url + path for path in ENCODED])
    wrong = {path: answer for (path, (_, _, text)), answer in zip(ENCODED.items(), answers, strict=True)
             if not answer.endswith(f"\n\n{text}")}
    assert not wrong


@pytest.mark.feature("F109")
def test_what_is_half_or_no_page_says_so(fetch, site):
    cut, binary, lying = [site.url + path for path in ("/cut", "/binary", "/binary-said-html")]
    answers = fetch(cut, binary, lying)
    expect_errors(answers[:1], [cut], "FETCH_FAILED", "The page broke off before its end.")
    expect_errors(answers[1:2], [binary], "BINARY_CONTENT", "It is binary, of the type application/octet-stream.")
    expect_errors(answers[2:], [lying], "BINARY_CONTENT", "It is binary, of the type text/html.")


@pytest.mark.feature("F51")
def test_a_pdf_is_read_as_text(fetch, site):
    [answer] = fetch(site.url + "/pdf")
    assert "Boil water first." in answer and "Then add tea." in answer


def children_of(pid):
    """All below a process, with their parents."""
    with os.scandir("/proc") as entries:
        pids = [entry.name for entry in entries if entry.name.isdigit()]
    parents = {}
    for each in pids:
        try:
            with open(f"/proc/{each}/stat") as stat:
                parents[int(each)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found, new = {pid}, True
    while new:
        new = {child for child, parent in parents.items() if parent in found} - found
        found |= new
    return found - {pid}


@pytest.mark.feature("F109")
def test_a_reader_that_is_killed_ends_one_call(opened, fetch, upstream, site):
    before = children_of(opened.process.child.pid)
    url = site.url + "/deep"
    got = []
    reading = threading.Thread(target=lambda: got.extend(fetch(url)))
    reading.start()
    [child] = eventually(lambda: children_of(opened.process.child.pid) - before)
    os.kill(child, signal.SIGKILL)
    reading.join(patience(30))
    expect_errors(got, [url], "PARSE_FAILED", "Reading the page takes too much time or memory.")
    assert fetch(site.url + "/tea")[0].endswith("Boil water first.")


@pytest.mark.feature("F109")
def test_a_cancelled_fetch_ends_at_once(opened, upstream, site):
    client = opened.sdk()
    upstream.script({"answer": {"tool_calls": [call("FetchWebPage", url=site.url + "/drip")]}})
    response = client.responses.create(model="demo", input="Read.", tools=[GROUP], background=True)
    eventually(lambda: site.asked)
    began = time.monotonic()
    assert client.responses.cancel(response.id).status == "cancelled"
    assert site.left.wait(patience(10))
    assert time.monotonic() - began < patience(5)
