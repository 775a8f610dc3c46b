"""An upstream that sends what a test has written down, and keeps all that it was sent."""

import http.server
import json
import threading

from .process import free_port


class RawModel:
    """Sends the deltas of its list, one answer after another, whatever is asked; one that is a function
    is given the request."""

    def __init__(self):
        self.answers, self.chats = [], []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                model.chats.append(json.loads(body))
                deltas = model.answers.pop(0)
                if callable(deltas):
                    deltas = deltas(model.chats[-1])
                lines = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]}
                         for d in deltas]
                lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines)
                text = (text + "data: [DONE]\n\n").encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
