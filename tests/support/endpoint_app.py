"""A program that listens on a port of a job, as the tests of endpoints want it. Python's own library, and WebSockets.

    python3 endpoint_app.py PORT

GET  /headers         the request as it arrived: path and headers, as JSON
GET  /cookies         an answer that sets two cookies, and tries to set Danlu's own
GET  /bytes/N         N bytes
GET  /slow/N          N lines, one whenever /next was asked for
GET  /next            lets the next line of /slow go
PUT  /sha256          the digest of the body
WS   /echo            sends back what it gets
"""

import hashlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NEXT = threading.Semaphore(0)
PIECE = bytes(range(256)) * 1024


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        if path == "/headers":
            self._json({"path": self.path, "headers": self.headers.items()})
        elif path == "/cookies":
            self.send_response(200)
            for cookie in ("one=1", "two=2; Path=/", "danlu_endpoint=stolen", "danlu_session=stolen"):
                self.send_header("Set-Cookie", cookie)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path.startswith("/bytes/"):
            left = int(path.rpartition("/")[2])
            self.send_response(200)
            self.send_header("Content-Length", str(left))
            self.end_headers()
            while left:
                piece = PIECE[: min(left, len(PIECE))]
                self.wfile.write(piece)
                left -= len(piece)
        elif path == "/next":
            NEXT.release()
            self._json({})
        elif path.startswith("/slow/"):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number in range(int(path.rpartition("/")[2])):
                NEXT.acquire()
                self.wfile.write(b"2\r\n%d\n\r\n" % number)
            self.wfile.write(b"0\r\n\r\n")
        elif path == "/echo" and self.headers.get("Upgrade", "").lower() == "websocket":
            self._websocket()
        else:
            self._json({"path": self.path})

    def do_PUT(self) -> None:
        digest, num_bytes = hashlib.sha256(), 0
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline(), 16):
                digest.update(self.rfile.read(size))
                num_bytes += size
                self.rfile.readline()
            self.rfile.readline()
        left = int(self.headers.get("Content-Length", "0"))
        while left:
            piece = self.rfile.read(min(left, 1 << 20))
            digest.update(piece)
            num_bytes += len(piece)
            left -= len(piece)
        self._json({"sha256": digest.hexdigest(), "num_bytes": num_bytes})

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _websocket(self) -> None:
        from websockets.frames import Frame, Opcode
        from websockets.http11 import Request
        from websockets.server import ServerProtocol

        protocol = ServerProtocol(max_size=None)
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        received = f"GET {self.path} HTTP/1.1\r\n{head}\r\n".encode()
        self.close_connection = True
        while received:
            protocol.receive_data(received)
            for event in protocol.events_received():
                if isinstance(event, Request):
                    protocol.send_response(protocol.accept(event))
                elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY):
                    (protocol.send_text if event.opcode is Opcode.TEXT else protocol.send_binary)(event.data)
            for data in protocol.data_to_send():
                if not data:  # closed by both sides
                    return
                self.wfile.write(data)
            received = self.connection.recv(65536)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App)
    print("listens", flush=True)
    server.serve_forever()
