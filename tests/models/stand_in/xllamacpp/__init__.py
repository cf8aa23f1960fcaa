"""A stand-in for the runtime: the same classes, the same wire, a script for a brain.

The "weights" are a JSON file: `replies`, a list that is used one by one, the last one for
ever. A reply is a text; or {"die": true}: the process ends in the middle; or {"endless": true}:
words until the connection is closed. `load` "never" loads for ever, "fail" not at all. `dies`: the
first request ends the process.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace


class CommonParams:
    """Only what the real one has may be set, so that a misspelt setting fails here too."""

    __slots__ = (
        "api_keys", "cache_ram_mib", "cors_origins", "cpuparams", "cpuparams_batch",
        "endpoint_slots", "fit_params", "hostnames", "model", "n_ctx", "n_gpu_layers", "n_parallel",
        "port", "sleep_idle_seconds", "ui", "verbosity", "warmup",
    )  # fmt: skip

    def __init__(self):
        self.model = SimpleNamespace(path="")
        self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace()


class Server:
    def __init__(self, params):
        script = json.loads(Path(params.model.path).read_text()) | {"path": params.model.path}
        if script.get("load") == "fail":
            raise RuntimeError("Failed to init server, please check the input params.")
        while script.get("load") == "never":
            time.sleep(1)
        self._http = ThreadingHTTPServer((params.hostnames[0], params.port), _Handler)
        self._http.script, self._http.keys = script, params.api_keys
        self._http.seen, self._http.headers = [], []
        self._http.closed = threading.Event()
        self.listening_address = "http://{}:{}".format(*self._http.server_address)
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        os.write(1, b"native code prints where it likes\n")  # must not disturb the ready line


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _allowed(self):
        if self.headers.get("Authorization") in [f"Bearer {key}" for key in self.server.keys]:
            return True
        self._json({"error": {"message": "Invalid API Key", "code": 401}}, 401)
        return False

    def _json(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        """/seen, /headers: of the requests so far; /closed: answers when a client has gone away."""
        if not self._allowed():
            return
        if self.path == "/closed":
            self.server.closed.wait(30)
            self._json(self.server.closed.is_set())
        elif self.path == "/headers":
            self._json(self.server.headers)
        else:
            self._json(self.server.seen)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._allowed():
            return
        replies = self.server.script["replies"]
        if self.server.script.get("dies"):
            Path(self.server.script["path"]).write_text(json.dumps({"replies": replies}))
            os._exit(9)
        reply = replies[min(len(self.server.seen), len(replies) - 1)]
        self.server.seen.append(request)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        if request.get("stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                self._stream(reply)
            except OSError:
                self.server.closed.set()
        else:
            self._json({
                "id": "x", "object": "chat.completion", "created": 1, "model": "stand-in",
                "choices": [{"index": 0, "finish_reason": "stop",
                             "message": {"role": "assistant", "content": reply}}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            })  # fmt: skip

    def _stream(self, reply):
        if isinstance(reply, str):
            for word in reply.split(" "):
                self._event({"content": word + " "})
            self._event({}, "stop")
            self._send({"choices": [], "usage": {
                "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}})  # fmt: skip
            self.wfile.write(b"data: [DONE]\n\n")
            return
        self._event({"role": "assistant", "content": "one "})
        if reply.get("die"):
            self.server.socket.close()
            self.connection.shutdown(socket.SHUT_RDWR)
            time.sleep(reply.get("after", 0))
            os._exit(9)
        while reply.get("endless"):
            self._event({"content": "word "})
            time.sleep(0.01)

    def _event(self, delta, finish=None):
        self._send({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _send(self, event):
        event = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "s"} | event
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.flush()
