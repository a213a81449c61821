"""Sounds, videos, figures and tables of a run."""

from __future__ import annotations

import io
import json
import wave

import pytest
from tests.support.written_runs import own_journal

from danlu import journal, track
from danlu.journal import Kind
from danlu.track.reading import read_run


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
    one = own_journal(run.path)
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
    assert json.loads(found[3].data) == {"columns": ["file", "loss"], "types": ["text", "mixed"], "rows": rows}
    run.finish()


def test_what_is_something_else_is_one_warning_each(caplog: pytest.LogCaptureFixture) -> None:
    run = track.start("mnist")
    run.log_image("sound", b"RIFF\0\0\0\0WAVE")
    run.log_video("array", [[1, 2]])
    run.log_table("short", ["a", "b"], [[1]])
    run.log_figure("text", "not a figure")
    run.flush()
    one = own_journal(run.path)
    assert not [frame for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
    told = caplog.text
    assert "these bytes are no PNG, JPEG, GIF or WebP file" in told
    assert "expected the path or the bytes of an MP4 or WebM file" in told
    assert "expected 2 cells in row 0, got 1" in told
    assert "expected a figure of Matplotlib" in told
    run.finish()


class Drawn:
    """What figures of Plotly have in common with this: they say what they are made from."""

    def to_plotly_json(self) -> object:
        return json.loads(self.to_json())

    def to_json(self) -> str:
        return '{"data": [{"x": [1], "y": [2]}], "layout": {"title": "t"}, "frames": []}'


def kept(run: track.Run) -> list[tuple[str, str, bytes]]:
    run.flush()
    one = own_journal(run.path)
    found = [journal.decode_media(frame) for frame in journal.scan(one.data).frames if frame.kind == Kind.MEDIA]
    return [(medium.about["kind"], medium.about["format"], medium.data) for medium in found]


def test_scores_of_classifiers() -> None:
    from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

    truth, scores = [0, 1, 1, 0, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.9, 0.4]
    predicted = [int(score > 0.38) for score in scores]
    with track.start("mnist") as run:
        run.log_confusion_matrix("errors", truth, predicted, labels=["cat", "dog"])
        run.log_roc_curve("roc", truth, scores)
        run.log_pr_curve("pr", truth, scores)
        run.log_pr_curve("pr", ["a", "b"], [[0.9, 0.1], [0.2, 0.8]], labels=["a", "b"])
        matrix, roc, pr, classes = [json.loads(data) for _, _, data in kept(run)]
    assert matrix == {"labels": ["cat", "dog"], "counts": confusion_matrix(truth, predicted).tolist()}
    assert roc["lines"][0]["area"] == pytest.approx(roc_auc_score(truth, scores))
    assert pr["lines"][0]["area"] == pytest.approx(average_precision_score(truth, scores))
    assert [(line["name"], line["area"]) for line in classes["lines"]] == [("a", 1.0), ("b", 1.0)]


def test_pages_figures_and_batches() -> None:
    import numpy

    with track.start("mnist") as run:
        run.log_html("page", "<b>hello</b>")
        run.log_figure("figure", Drawn())
        run.log_images("batch", numpy.zeros((2, 3, 4, 5), dtype=numpy.uint8), captions=["one"])
        run.log_video("moving", numpy.zeros((2, 4, 5, 3), dtype=numpy.uint8), fps=2)
        page, figure, batch, moving = kept(run)
    assert page == ("html", "text/html", b"<b>hello</b>")
    assert figure[:2] == ("plotly", "application/vnd.plotly.v1+json")
    assert json.loads(figure[2]) == {"data": [{"x": [1], "y": [2]}], "layout": {"title": "t"}}
    assert [one["caption"] for one in json.loads(batch[2])["images"]] == ["one", ""]
    assert (moving[1], moving[2][:6]) == ("image/gif", b"GIF89a")


def test_alerts_of_one_title_are_one_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    with track.start("mnist") as run:
        for _ in range(3):
            run.alert("loss is high", "3.5", "warning")
        run.alert("loss is high", "now", wait_seconds=0)
        run.alert("strange", level="catastrophe")
        assert [(kind, data) for kind, _, data in kept(run)] == [("alert", b"3.5"), ("alert", b"now"), ("alert", b"")]
    assert "level is one of info, warning, error" in caplog.text


def test_what_a_run_is_a_part_of_and_shown_over(caplog: pytest.LogCaptureFixture) -> None:
    outer = track.start("search", group="lr")
    inner = track.start("trial", group="lr", parent=outer, description="first")
    inner.description = "second"
    inner.define_axis("val/*", "samples")
    inner.define_axis("", "samples")
    strange = track.start("strange", parent="../x")
    for run in (strange, inner, outer):
        run.finish()
    found = read_run(inner.path)
    assert (found.header["group"], found.header["parent"], found.fields["description"]) == ("lr", outer.id, "second")
    assert found.axes == {"val/*": "train/samples"}
    assert read_run(strange.path).header["parent"] is None
    assert "parent is a run or its id" in caplog.text
    assert "expected the names of two metrics" in caplog.text
    assert track.load(inner.path).description == "second"


def test_a_large_medium_is_whole_while_others_write() -> None:
    import threading

    over = threading.Event()
    with track.start("mnist") as run:

        def write() -> None:
            while not over.is_set():
                run.log({"loss": 1.0}, flush=True)

        thread = threading.Thread(target=write)
        thread.start()
        for step in range(5):
            run.log_text("long", "x" * (3 << 20), step)
        over.set()
        thread.join()
        run.flush()
        one = own_journal(run.path)
    parts = [
        journal.decode_media(frame).about["part"] if frame.kind == Kind.MEDIA else None
        for frame in journal.scan(one.data).frames
    ]
    firsts = [at for at, part in enumerate(parts) if part == 0]
    assert [parts[at : at + 4] for at in firsts] == [[0, 1, 2, 3]] * 5
