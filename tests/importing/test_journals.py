"""Foreign runs as journals: the same bytes each time, and two metrics never become one."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from danlu import journal
from danlu.importing.journals import Series, Written, header_of, journal_id, run_id, write
from danlu.importing.media import MAX_BYTES
from danlu.importing.records import Alert, Event, ForeignRun, Medium, Points, Printed

AT = 1_700_000_000.0


@dataclass(frozen=True)
class Listed(ForeignRun):
    all: Sequence[Event] = ()

    def events(self) -> Iterator[Event]:
        return iter(self.all)


def make(*events: Event, fingerprint: str = "1") -> Listed:
    return Listed("wandb", "team/vision/abc", "part", fingerprint, name="first", created_at=AT, all=events)


def written(run: ForeignRun) -> tuple[bytes, Written]:
    file = io.BytesIO()
    id = run_id(run, owner="mia", project="vision")
    done = write(run, header_of(run, id=id, project="vision"), file=file)
    return file.getvalue(), done


def frames(run: ForeignRun) -> list[journal.Frame]:
    found = journal.scan(written(run)[0])
    assert found.end == len(written(run)[0])
    return list(found.frames)


def test_the_same_run_is_the_same_bytes() -> None:
    run = make(Points({"a": 1.0, "val/b": 2.0}, 0, AT), Printed(1, AT, b"x"), Medium("text", "t", b"y", 0, AT))
    assert written(run) == written(run)
    assert written(run)[1] == Written(num_points=2, num_media=1)
    assert run_id(run, owner="mia", project="vision") != run_id(run, owner="max", project="vision")
    assert journal_id(run)[:16] == journal_id(make(fingerprint="2"))[:16]
    assert journal_id(run) != journal_id(make(fingerprint="2"))


def test_two_metrics_never_become_one() -> None:
    series = Series()
    keys = ["loss", "train/loss", "training/loss", "val/x", "validation/x", "x" * 300, "x" * 301, "a/b", "/b", "c/"]
    found = [series.of(key, None) for key in keys]
    assert found[:5] == [("", "loss"), ("train", "loss"), ("", "training/loss"), ("val", "x"), ("", "validation/x")]
    assert len(set(found)) == len(keys)
    assert [series.of(key, None) for key in keys] == found
    assert series.of("loss", "train") == ("", "loss~3")


def test_what_was_printed_within_a_second_shares_a_frame() -> None:
    words = [Printed(1, AT + at / 10, b"word ") for at in range(15)]
    kinds = [frame.kind for frame in frames(make(*words, Printed(2, AT + 2, b"!")))]
    assert kinds == [
        journal.Kind.RUN,
        journal.Kind.OUTPUT,
        journal.Kind.OUTPUT,
        journal.Kind.OUTPUT,
        journal.Kind.FINISH,
    ]


def test_rows_whose_names_are_in_another_order_share_a_layout() -> None:
    run = make(Points({"a": 1.0, "b": 2.0}, 0, AT), Points({"b": 4.0, "a": 3.0}, 1, AT))
    found = frames(run)
    assert [frame.kind for frame in found].count(journal.Kind.LAYOUT) == 1
    rows = next(frame for frame in found if frame.kind == journal.Kind.POINTS).payload[8:]
    assert [row[3:] for row in journal.row_struct(2).iter_unpack(rows)] == [(1.0, 2.0), (3.0, 4.0)]


@pytest.mark.parametrize("time", [math.nan, math.inf, -1e300, 1e300])
def test_times_and_steps_that_nobody_can_hold(time: float) -> None:
    run = make(
        Points({"a": math.nan}, 1 << 80, time), Medium("text", "t", b"y", -(1 << 80), time), Printed(1, time, b"z")
    )
    assert [frame.kind for frame in frames(run)][-1] == journal.Kind.FINISH


def test_a_medium_that_cannot_be_shown_is_named() -> None:
    run = make(
        Medium("image", "bad", b"no image", 0, AT),
        Medium("image", "big", b"\x89PNG" + bytes(MAX_BYTES), 0, AT),
        Medium("video", "gif", b"GIF89a", 0, AT),
    )
    assert written(run)[1].num_media == 1
    assert len(run.problems.all()) == 2


def test_an_environment_that_fits_into_no_frame_is_named() -> None:
    run = replace(make(), environment={"command": ["\x01" * 200_000] * 2})
    assert frames(run)[0].kind == journal.Kind.RUN
    assert "its environment has more than" in run.problems.all()[0]


def test_too_many_metrics_are_named_and_the_others_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("danlu.importing.journals.MAX_SERIES", 10)
    run = make(*(Points({f"m{at}": 1.0}, at, AT) for at in range(20)))
    assert written(run)[1].num_points == 10
    assert len(run.problems.all()) == 10


def test_a_group_axes_and_alerts_are_those_of_a_run_of_ours() -> None:
    values = {"validation/acc": 1.0, "loss": 2.0, "samples": 3.0, "layer/a": 4.0}
    run = replace(
        make(Points(values, 0, AT), Alert("low", "disk", "WARN", 3, AT + 1), Points(values, 1, AT)),
        group="g1",
        axes={"validation/*": "samples", "*": "layer/a", "loss": "samples", "layer/b": "samples"},
    )
    found = frames(run)
    assert journal.decode_json(found[0])["group"] == "g1"
    sets = [journal.decode_json(frame) for frame in found if frame.kind == journal.Kind.SET]
    assert [(one["field"], one["set"]) for one in sets] == [
        ("axes", {"/loss": "/samples", "/samples": "/layer/a", "val/acc": "/samples"})
    ]
    (alert,) = [journal.decode_media(frame) for frame in found if frame.kind == journal.Kind.MEDIA]
    assert {name: alert.about[name] for name in ("kind", "name", "level", "step", "time")} == {
        "kind": "alert",
        "name": "low",
        "level": "warning",
        "step": 3,
        "time": AT + 1,
    }
    assert bytes(alert.data) == b"disk"


def test_more_axes_than_the_server_keeps_are_named() -> None:
    run = replace(make(Points({f"m{at}": 1.0 for at in range(2500)}, 0, AT)), axes={"*": "m0"})
    sets = [journal.decode_json(frame) for frame in frames(run) if frame.kind == journal.Kind.SET]
    assert sum(len(one["set"]) for one in sets) == 2000
    assert "2499 metrics have an axis of their own" in run.problems.all()[0]
