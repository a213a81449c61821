"""Sounds, videos, figures and tables of a run."""

from __future__ import annotations

import io
import json
import wave

import pytest

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.reading import open_journals


class Figure:
    """What Matplotlib's figures have in common with this: they save themselves."""

    def savefig(self, file: io.BytesIO, *, format: str, bbox_inches: str) -> None:
        file.write(b"\x89PNG" + f"{format} {bbox_inches}".encode())


def test_each_is_kept_in_its_format() -> None:
    run = track.start("mnist")
    run.log_audio("speech", [0.0, 1.0, -1.0, float("nan")], step=1, sample_rate=8000)
    run.log_video("rollout", b"\0\0\0\x18ftypmp42", step=2)
    run.log_figure("confusion", Figure(), step=3)
    run.log_table("worst", ["file", "loss"], [["a.png", 2.5], ["b.png", float("inf")], [None, [1]]], step=4)
    run.flush()
    one = open_journals(run.path)[0]
    found = [journal.decode_media(frame) for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
    assert [(media.about["kind"], media.about["format"], media.about["step"]) for media in found] == [
        ("audio", "audio/wav", 1),
        ("video", "video/mp4", 2),
        ("figure", "image/png", 3),
        ("table", "application/json", 4),
    ]
    with wave.open(io.BytesIO(found[0].data)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (8000, 1, 4)
        assert sound.readframes(4) == b"\x00\x00\xff\x7f\x01\x80\x00\x00"
    rows = [["a.png", 2.5], ["b.png", "inf"], [None, "[1]"]]
    assert json.loads(found[3].data) == {"columns": ["file", "loss"], "rows": rows}
    run.finish()


def test_what_is_something_else_is_one_warning_each(caplog: pytest.LogCaptureFixture) -> None:
    run = track.start("mnist")
    run.log_image("sound", b"RIFF\0\0\0\0WAVE")
    run.log_video("array", [[1, 2]])
    run.log_table("short", ["a", "b"], [[1]])
    run.log_figure("text", "not a figure")
    run.flush()
    one = open_journals(run.path)[0]
    assert not [frame for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
    told = caplog.text
    assert "these bytes are no PNG, JPEG, GIF or WebP file" in told
    assert "expected the path or the bytes of an MP4 or WebM file" in told
    assert "expected 2 cells in row 0, got 1" in told
    assert "expected a figure of Matplotlib" in told
    run.finish()
