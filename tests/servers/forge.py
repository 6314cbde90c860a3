"""A forge as far as comments go: the documented answers of GitHub (Gitea, Forgejo) and GitLab, over real HTTP, in pages."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0ken"


@dataclass
class Forge:
    """`comments` of its one pull request, in the order they were made. Without `has_pages` it answers every page with all of them, as
    Gitea and Forgejo do for comments of an issue."""

    url: str = ""
    has_pages: bool = True
    is_archived: bool = False
    comments: list[dict[str, object]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: dict[str, str] | None) -> tuple[int, object]:
        self.calls.append(method)
        if self.is_archived and method != "GET":
            return 403, {"message": "Repo is archived.", "url": "https://forge.example/api/swagger"}
        parts = urlsplit(path)
        if re.fullmatch(r"/repos/me/fleet/issues/7/comments|/projects/42/merge_requests/7/notes", parts.path):
            if method == "GET":
                if not self.has_pages:
                    return 200, self.comments
                query = parse_qs(parts.query)
                size, page = int(query["per_page"][0]), int(query["page"][0])
                return 200, self.comments[(page - 1) * size : page * size]
            assert body is not None
            self.comments.append({"id": 100 + len(self.comments), "body": body["body"]})
            return 201, self.comments[-1]
        one = re.fullmatch(
            r"/repos/me/fleet/issues/comments/(\d+)|/projects/42/merge_requests/7/notes/(\d+)", parts.path
        )
        wanted = {"PATCH": 1, "PUT": 2}.get(method, 0)
        if one is None or not wanted or one[wanted] is None:
            return 404, {"message": "Not Found"}
        assert body is not None
        found = next(comment for comment in self.comments if comment["id"] == int(one[wanted]))
        found["body"] = body["body"]
        return 200, found


@contextmanager
def forge() -> Iterator[Forge]:
    state = Forge()

    class Handler(BaseHTTPRequestHandler):
        def serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            given = self.headers.get("Authorization"), self.headers.get("PRIVATE-TOKEN")
            is_allowed = f"Bearer {TOKEN}" in given or TOKEN in given
            status, answer = (
                state.answer(self.command, self.path, body)
                if is_allowed
                else (401, {"message": "Bad credentials"})
            )
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = serve

        def log_message(self, *_: object) -> None:
            """Tests say what went wrong."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
