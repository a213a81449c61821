"""What others choose (names, tags, log lines, error texts) must not act on the terminal of whoever reads it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from tests.security.terminals.conftest import Victim
from tests.support.journals import JournalMaker

from danlu.client import Client, Job
from danlu.errors import InvalidInput
from danlu.spec.states import JobState
from danlu.testing.serving import RunningServer

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
PAYLOADS = {
    "clipboard (OSC 52)": CLIPBOARD,
    "title (OSC 0)": "\x1b]0;owned\x1b\\",
    "link (OSC 8)": "\x1b]8;;http:evil.example\x1b\\click\x1b]8;;\x1b\\",
    "cursor up and erase": "\x1b[3A\x1b[2K",
    "clear and home": "\x1b[2J\x1b[H",
    "alternate screen": "\x1b[?1049h",
    "report of the title": "\x1b[21t",
    "device status, answered as if typed": "\x1b[6n\x1b[c",
    "device control string": "\x1bP$q\x1b\\",
    "C1 control sequence": "\x9b3A\x9b2K",
    "C1 operating system command": "\x9d52;c;ZXZpbA==\x9c",
    "right-to-left override": "\u202ecod.exe\u202c",
    "isolate": "\u2066x\u2069",
    "carriage return": "good\rEVIL",
    "backspaces": "good\b\b\b\bEVIL",
    "bell and shift out": "\x07\x0e",
    "line and paragraph separator": "a\u2028b\u2029c",
    "invisible tags": "a\U000e0041\U000e0042",
    "row of a table": "x\nrun-faked  finished",
}
ON_ONE_LINE = [text for text in PAYLOADS.values() if "\n" not in text]


def printing(text: str, *, code: int = 0) -> list[str]:
    return ["python3", "-c", f"import sys; sys.stdout.write({text!r} + chr(10)); sys.exit({code})"]


def make_run(client: Client, name: str) -> str | None:
    """The id of a run of this name; None when such a name cannot be chosen."""
    made = JournalMaker(name=name, folder="evil")
    headers = {"Authorization": f"Bearer {client.settings.api_key}"}
    answer = httpx.post(f"{client.settings.url}/api/v1/runs", json=made.header, headers=headers)
    assert answer.status_code in (200, 201, 422)
    return None if answer.status_code == 422 else made.run


def test_names_of_runs(victim: Victim, mallory: Client) -> None:
    made = [make_run(mallory, f"loss{payload}") for payload in PAYLOADS.values()]
    chosen = [run for run in made if run is not None]
    for more in ((), ("--json",)):
        seen = victim("runs", "ls", "-f", "evil", *more)
        assert all(run in seen.text for run in chosen)
        assert not any(line.startswith("run-faked") for line in seen.lines)
        seen.assert_harmless()
    last = make_run(mallory, "loss\x9b3A\u202e")
    assert last is not None
    for words in (("runs", "show", last), ("runs", "compare", last, chosen[0]), ("runs", "mv", last, "evil/x")):
        seen = victim(*words)
        assert "loss\\x9b3A\\u202e" in seen.text
        seen.assert_harmless()


def test_log_lines_keep_colours_and_nothing_else(victim: Victim, mallory: Client) -> None:
    job = mallory.jobs.submit(name="noisy", command=printing("\n".join([*ON_ONE_LINE, "\x1b[31mred", "plain"])))
    job.wait()
    seen = victim("logs", job.id)
    seen.assert_harmless()
    assert seen.lines[0] == "\\x1b]52;c;ZXZpbA==\\x07"
    assert "EVIL" in seen.lines  # what a terminal would show in the end, and nothing before it
    assert seen.lines[-2:] == ["\x1b[31mred\x1b[0m", "plain"]  # a colour ends with its line
    without = victim("logs", job.id, extra={"NO_COLOR": "1"})
    assert without.lines[-2:] == ["red", "plain"]
    raw = victim("logs", "--raw", job.id)
    assert all(payload.encode() in raw.data for payload in ON_ONE_LINE)
    assert mallory.jobs.get(job.id).state is JobState.SUCCEEDED


def test_logs_into_a_pipe_are_the_bytes_of_the_log(victim: Victim, mallory: Client) -> None:
    job = mallory.jobs.submit(name="piped", command=printing("".join(ON_ONE_LINE)))
    job.wait()
    assert victim("logs", job.id, is_terminal=False).data == "".join(ON_ONE_LINE).encode() + b"\n"
    lines = victim("logs", job.id, "--json", is_terminal=False).data
    assert json.loads(lines)["text"] == "".join(ON_ONE_LINE)
    assert all(32 <= byte < 127 or byte == 10 for byte in lines if byte < 128)


def test_the_last_lines_of_a_failed_job(victim: Victim, mallory: Client) -> None:
    command = printing("".join(ON_ONE_LINE), code=3)
    job = mallory.jobs.submit(name="failing", command=command, tags={"team": "v\x9b2K\u202e"})
    job.wait()
    for words in (("show", job.id, "--events"), ("ps", "-a", "-n", "5"), ("show", job.id, "--json"), ("wait", job.id)):
        seen = victim(*words)
        assert job.id in seen.text
        seen.assert_harmless()


def test_following_a_job_to_its_end(victim: Victim) -> None:
    seen = victim("run", "--", *printing(CLIPBOARD + "\x9b3A", code=3))
    assert seen.code == 100
    seen.assert_harmless()
    assert "\\x1b]52;c;ZXZpbA==\\x07\\x9b3A" in seen.text


def test_files_in_the_store(victim: Victim, mallory: Client, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {mallory.settings.api_key}"}
    where = f"{mallory.settings.url}/api/v1/buckets/main/objects/"
    answers = [
        httpx.put(where + quote(f"evil-files/a{payload}b", safe="/"), content=b"x" * 100_000, headers=headers)
        for payload in PAYLOADS.values()
    ]
    assert {answer.status_code for answer in answers} <= {200, 404, 422}  # some cannot be chosen at all
    chosen = [text for text, answer in zip(PAYLOADS.values(), answers) if answer.status_code == 200]
    assert "\x9b3A\x9b2K" in chosen
    for words in (("-r", "store://main/evil-files/"), ("store://main/evil-files/", "--json")):
        seen = victim("store", "ls", *words)
        assert seen.code == 0
        seen.assert_harmless()
    # the progress bar moves the cursor by itself, but not as a file's name says
    seen = victim("store", "cp", "-r", "store://main/evil-files/", str(tmp_path / "back"))
    assert seen.code == 0
    assert not any(payload.encode() in seen.data for payload in chosen)
    mallory.store.delete("store://main/evil-files/")


def test_a_file_name_is_no_markup_in_the_progress_bar(victim: Victim, tmp_path: Path) -> None:
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "[link=http:evil.example]x").write_bytes(b"x" * 4_000_000)
    seen = victim("store", "cp", "-r", f"{tmp_path}/up/", "store://main/markup/")
    assert seen.code == 0
    assert b"\x1b]8;" not in seen.data
    assert "[link=http:evil.example]x" in seen.text


def test_people_choose_their_full_name(victim: Victim, server: RunningServer, mallory: Client) -> None:
    with server.client() as admin:
        for name, payload in PAYLOADS.items():
            if any(ord(char) < 32 for char in payload):
                with pytest.raises(InvalidInput, match="control characters"):
                    admin.people.change("mallory", full_name=payload)
            else:
                admin.people.change("mallory", full_name=f"{name} {payload}")
        admin.people.change("mallory", full_name="Mal\x9b3A\u202e\U000e0041")
    for words in (("users", "ls"), ("users", "show", "mallory"), ("users", "show", "mallory", "--json")):
        seen = victim(*words)
        assert "mallory" in seen.text
        seen.assert_harmless()
    assert mallory.me().name == "mallory"


def test_whoever_asks_for_an_account(victim: Victim, server: RunningServer) -> None:
    """A stranger without credentials attacks the admin who reads the list."""
    with Client(url=server.url) as stranger:
        note = "hi\n\u202eadmin: approved\x9d0;x"
        stranger.people.register("stranger", "a good password", full_name="No\x9b3A", note=note)
    seen = victim("users", "ls")
    seen.assert_harmless()
    assert "No\\x9b3A" in seen.text


def test_models_artifacts_flow_and_the_audit_trail(victim: Victim, mallory: Client, tmp_path: Path) -> None:
    evil = "\x9b2K\u202e"
    file = tmp_path / f"w{evil}.pt"
    file.write_bytes(b"w")
    mallory.artifacts.upload("evil-art", [file], description=f"d{evil}")
    mallory.store.upload(file, "main/evil-model/")
    version = mallory.models.register("evil-model", path=f"store://main/evil-model/{file.name}", description=f"d{evil}")
    for words in (
        ("artifacts", "show", "evil-art"),
        ("models", "show", "evil-model:1"),
        ("models", "list"),
        ("flow", version.id),
        ("flow", version.id, "--format", "dot"),
        ("flow", version.id, "--format", "mermaid"),
        ("audit", "-n", "100"),
    ):
        seen = victim(*words)
        assert seen.code == 0, seen.text
        seen.assert_harmless()


@contextmanager
def hostile_server(message: str) -> Iterator[str]:
    """Answers every request with an error of its choosing, as a server may that somebody made me connect to."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"error": "NotFound", "message": message, "fields": {"a\x9b": message}}).encode()
            self.send_response(404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        listening.server_close()


def test_error_messages_of_a_hostile_server(victim: Victim) -> None:
    with hostile_server("\n".join(["no job", *PAYLOADS.values(), "all is well"])) as url:
        seen = victim("show", "x", url=url)
    assert seen.code == 1
    seen.assert_harmless()
    assert all(line.startswith("danlu: ") for line in seen.lines)


def test_wrong_calls_that_quote_their_words(victim: Victim) -> None:
    evil = "".join(PAYLOADS.values())
    for words in (("ps", "--state", f"x{evil}"), (f"x{evil}",), ("logs", "--rank", f"x{evil}", "y")):
        seen = victim(*words)
        assert seen.code == 2
        seen.assert_harmless()


def test_output_of_exec(victim: Victim, mallory: Client) -> None:
    job = mallory.jobs.submit(name="shelled", command="sleep 300")
    try:
        until_running(job)
        seen = victim("exec", job.id, "--", *printing("".join(ON_ONE_LINE)))
        raw = victim("exec", "--raw", job.id, "--", *printing(CLIPBOARD))
    finally:
        job.stop()
    assert "\\x1b]52;c;ZXZpbA==\\x07" in seen.text
    assert CLIPBOARD.encode() not in seen.data
    assert CLIPBOARD.encode() in raw.data


def until_running(job: Job) -> None:
    for _ in job.watch():
        if job.state is JobState.RUNNING:
            return
