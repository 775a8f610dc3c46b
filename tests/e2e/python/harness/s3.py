"""A server that speaks as much S3 as core/blob needs, checks every signature, and fails where a test says so.

The signature is computed here from AWS's description (version 4), so that a mistake of libcurl's or of the
server's shows. Objects lie in memory."""

import hashlib
import hmac
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

BUCKET, REGION, ACCESS_KEY, SECRET_KEY = "runnel-test", "eu-test-1", "AKIDTEST", "secret/key+with=signs"
SMALLEST_PART = 5 << 20
SKEW = 900  # seconds
HEADER = re.compile(r"AWS4-HMAC-SHA256 Credential=(\S+?)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def hmac_of(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def quote(text):
    return urllib.parse.quote(text, safe="-._~")


def signature(secret, date, region, when, signed, method, path, query, headers, payload):
    names = sorted(urllib.parse.parse_qsl(query, keep_blank_values=True))
    request = "\n".join([
        method, "/".join(quote(urllib.parse.unquote(part)) for part in path.split("/")),
        "&".join(f"{quote(name)}={quote(value)}" for name, value in names),
        "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed.split(";")),
        signed, payload])
    text = "\n".join(["AWS4-HMAC-SHA256", when, f"{date}/{region}/s3/aws4_request", sha256(request.encode())])
    key = f"AWS4{secret}".encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac_of(key, part)
    return hmac_of(key, text).hex()


class Refusal(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Cut(Exception):
    """The connection is closed instead of an answer, or in its middle; or first stays open without a byte more."""

    stalls = False


class Stall(Cut):
    stalls = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        pass

    def handle_all(self):
        self.path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length", 0))
        self.server.s3.arrived(self)
        body = self.rfile.read(length)
        try:
            status, headers, data = self.server.s3.answer(self, query, body)
        except Refusal as refusal:
            status, headers = refusal.status, {"Content-Type": "application/xml"}
            data = f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code><Message>x</Message></Error>".encode()
        except Cut as cut:
            if cut.args:  # some of the answer
                self.wfile.write(cut.args[0])
                self.wfile.flush()
            if cut.stalls:
                self.server.s3.stalled.wait()
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_all


class S3:
    """objects: {key: bytes}; uploads: {id: (key, {number: bytes})}; log: [(operation, key)];
    faults: [{"on": operation, "do": what, "times": n}]."""

    environment = {"TEST_S3_KEY": ACCESS_KEY, "TEST_S3_SECRET": SECRET_KEY}

    def __init__(self):
        self.objects, self.uploads, self.log, self.faults = {}, {}, [], []
        self.stalled = threading.Event()  # set when what stalls may end
        self.skew = 0
        self.made = 0
        self.largest = 0
        self.lock = threading.Lock()
        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.httpd.s3 = self
        self.port = self.httpd.server_address[1]
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()

    def close(self):
        self.stalled.set()
        self.httpd.shutdown()
        self.httpd.server_close()

    def config(self, **more):
        """The section `files` of a configuration, and the environment that it names."""
        return {"files": {"s3": {"endpoint": f"http://127.0.0.1:{self.port}", "bucket": BUCKET, "region": REGION,
                                 "access_key_env": "TEST_S3_KEY", "secret_key_env": "TEST_S3_SECRET", **more}}}

    def fail(self, on, do, times=1, after=0):
        self.faults.append({"on": on, "do": do, "times": times, "after": after})

    def count(self, operation):
        return sum(name == operation for name, _key in self.log)

    # ---- One request ----

    def arrived(self, handler):
        self.largest = max(self.largest, int(handler.headers.get("Content-Length", 0)))

    def check_signature(self, handler, query, body):
        headers = {name.lower(): value for name, value in handler.headers.items()}
        found = HEADER.fullmatch(headers.get("authorization", ""))
        if not found:
            raise Refusal(403, "AccessDenied")
        key, date, region, signed, given = found.groups()
        if key != ACCESS_KEY:
            raise Refusal(403, "InvalidAccessKeyId")
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed.split(";")):
            raise Refusal(403, "AccessDenied")
        when = headers["x-amz-date"]
        sent = time.mktime(time.strptime(when, "%Y%m%dT%H%M%SZ")) - time.timezone
        if abs(sent - time.time() - self.skew) > SKEW:
            raise Refusal(403, "RequestTimeTooSkewed")
        payload = headers["x-amz-content-sha256"]
        if payload != sha256(body):
            raise Refusal(400, "XAmzContentSHA256Mismatch")
        if date != when[:8] or region != REGION or not hmac.compare_digest(given, signature(
                SECRET_KEY, date, region, when, signed, handler.command, handler.path, query, headers, payload)):
            raise Refusal(403, "SignatureDoesNotMatch")

    @staticmethod
    def operation(method, key, names):
        if not key:
            return "list" if "uploads" in names else "bucket"
        return {("POST", "uploads"): "begin", ("POST", "uploadId"): "complete", ("PUT", "partNumber"): "part",
                ("DELETE", "uploadId"): "abort"}.get(
            (method, next((name for name in ("uploads", "partNumber", "uploadId") if name in names), "")),
            {"PUT": "put", "GET": "get", "DELETE": "delete"}.get(method))

    def fault(self, operation):
        with self.lock:
            for fault in self.faults:
                if fault["on"] in (operation, "any") and fault["times"] > 0:
                    if fault["after"]:
                        fault["after"] -= 1
                        continue
                    fault["times"] -= 1
                    return fault["do"]
        return None

    def answer(self, handler, query, body):
        self.check_signature(handler, query, body)
        parts = handler.path.split("/", 2)
        if parts[1] != BUCKET:
            raise Refusal(404, "NoSuchBucket")
        key = parts[2] if len(parts) > 2 else ""
        names = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        operation = self.operation(handler.command, key, names)
        with self.lock:
            self.log.append((operation, key))
        what = self.fault(operation)
        if what == "cut before":
            raise Cut
        if what == "stall":
            raise Stall
        if what == "slow down":
            raise Refusal(503, "SlowDown")
        if what == "full":
            raise Refusal(507, "XMinioStorageFull")
        if what == "denied":
            raise Refusal(403, "AccessDenied")
        if what == "garbage":
            return 200, {"Content-Type": "application/xml"}, b"<\0]]>&&<UploadId>"
        if callable(what):
            what()
        with self.lock:
            status, headers, data = getattr(self, f"do_{operation}")(handler, key, names, body)
        if what == "cut after":  # it is done, and the client never learns it
            raise Cut
        if what in ("cut within", "stall within"):
            raise (Cut if what == "cut within" else Stall)(b"HTTP/1.1 %d OK\r\nETag: \"x\"\r\nContent-Range: bytes 0-9/10\r\nContent-Length: %d\r\n\r\n%s"
                      % (status, len(data) + 5, data[:len(data) // 2]))
        if what == "error inside":
            return 200, {}, b"<?xml version='1.0'?>\n\n<Error><Code>InternalError</Code></Error>"
        if what == "ignores range":
            return 200, headers, self.objects[key]
        return status, headers, data

    # ---- Operations ----

    def do_bucket(self, *_arguments):
        raise Refusal(501, "NotImplemented")

    def do_list(self, _handler, _key, names, _body):
        found = [(id, key) for id, (key, _parts) in self.uploads.items() if key.startswith(names.get("prefix", ""))]
        listed = "".join(f"<Upload><Key>{escape(key)}</Key><UploadId>{escape(id)}</UploadId></Upload>"
                         for id, key in found[:int(names["max-uploads"])])
        return 200, {}, f"<?xml version='1.0'?><ListMultipartUploadsResult>{listed}</ListMultipartUploadsResult>".encode()

    def do_begin(self, _handler, key, _names, _body):
        self.made += 1
        id = f"upload&{self.made}/+=~ <{'x' * 40}>"
        self.uploads[id] = (key, {})
        return 200, {}, f"<InitiateMultipartUploadResult><UploadId>{escape(id)}</UploadId>" \
            "</InitiateMultipartUploadResult>".encode()

    def upload_of(self, key, names):
        upload = self.uploads.get(names["uploadId"])
        if not upload or upload[0] != key:
            raise Refusal(404, "NoSuchUpload")
        return upload[1]

    def do_part(self, _handler, key, names, body):
        self.upload_of(key, names)[int(names["partNumber"])] = body
        return 200, {"ETag": f'"{sha256(body)[:32]}"'}, b""

    def do_complete(self, _handler, key, names, body):
        parts = self.upload_of(key, names)
        named = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>\"(\w+)\"</ETag></Part>", body.decode())
        if [int(number) for number, _etag in named] != sorted(parts) or \
                any(sha256(parts[int(number)])[:32] != etag for number, etag in named):
            raise Refusal(400, "InvalidPart")
        if any(len(parts[number]) < SMALLEST_PART for number in sorted(parts)[:-1]):
            raise Refusal(400, "EntityTooSmall")
        self.objects[key] = b"".join(parts[number] for number in sorted(parts))
        del self.uploads[names["uploadId"]]
        return 200, {}, b"\n<CompleteMultipartUploadResult><ETag>&quot;x-1&quot;</ETag></CompleteMultipartUploadResult>"

    def do_abort(self, _handler, key, names, _body):
        self.upload_of(key, names)
        del self.uploads[names["uploadId"]]
        return 204, {}, b""

    def do_put(self, _handler, key, _names, body):
        self.objects[key] = body
        return 200, {"ETag": '"x"'}, b""

    def do_get(self, handler, key, _names, _body):
        if key not in self.objects:
            raise Refusal(404, "NoSuchKey")
        data = self.objects[key]
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers["Range"]).groups())
        if first >= len(data):
            raise Refusal(416, "InvalidRange")
        return 206, {"Content-Range": f"bytes {first}-{last}/{len(data)}"}, data[first:last + 1]

    def do_delete(self, _handler, key, _names, _body):
        self.objects.pop(key, None)
        return 204, {}, b""


def main():
    """For the tests in C: prints its port, then for each line of its input how many objects and uploads it has. The
    line may be a fault: "fail OPERATION WHAT"."""
    s3 = S3()
    print(s3.port, flush=True)
    for line in sys.stdin:
        words = line.split(maxsplit=2)
        if words[0] == "fail":
            s3.fail(words[1], words[2].strip())
        elif words[0] == "clear":
            s3.objects.clear()
        elif words[0] == "heal":
            s3.faults.clear()
        print(len(s3.objects), len(s3.uploads), flush=True)


if __name__ == "__main__":
    main()
