"""Event files with all that TensorBoard's writers put into them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.support.foreign_files import PNG, double_field, field, number_field

from danlu.importing.checksums import checksum_of
from danlu.importing.records import ForeignRun, Medium, Points
from danlu.importing.tensorboard import EventFolders
from danlu.journal.event_files import masked, masked_crc32c, record, scalar_event

WAV = b"RIFF\0\0\0\0WAVEfmt "


def event(step: int, summary: bytes, *, more: bytes = b"") -> bytes:
    return record(double_field(1, 100.0 + step) + number_field(2, step) + field(5, summary) + more)


def value(tag: str, content: bytes, plugin: str = "") -> bytes:
    metadata = field(9, field(1, field(1, plugin))) if plugin else b""
    return field(1, field(1, tag) + content + metadata)


def strings(*parts: bytes) -> bytes:
    return field(8, number_field(1, 7) + b"".join(field(8, part) for part in parts))


def floats(numbers: list[float]) -> bytes:
    return field(8, number_field(1, 1) + field(4, struct.pack(f"<{len(numbers)}f", *numbers)))


def read(path: Path) -> tuple[list[ForeignRun], list[str]]:
    source = EventFolders(path, "mnist")
    return list(source.runs()), source.problems()


def test_every_kind_comes_out(tmp_path: Path) -> None:
    curve = [4.0, 2.0, 2.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.5, 1.0, 1.0, 0.5]
    (tmp_path / "events.out.tfevents.1.a").write_bytes(
        record(scalar_event(100.0, 0, tag="loss", value=0.5))
        + event(1, value("val/img", field(4, number_field(1, 1) + field(4, PNG))))
        + event(2, value("imgs", strings(b"1", b"1", PNG, PNG), "images"))
        + event(3, value("snd", field(6, field(4, WAV))))
        + event(4, value("snd2", strings(WAV, b"label"), "audio"))
        + event(5, value("words", strings(b"a", b"b"), "text"))
        + event(6, value("pr", floats(curve), "pr_curves"))
        + event(7, value("hist", floats([0.0, 1.0, 3.0, 1.0, 2.0, 4.0]), "histograms"))
        + event(8, value("mesh", strings(b"x"), "mesh"), more=field(4, b"graph"))
    )
    (run,), problems = read(tmp_path)
    assert problems == []
    events = list(run.events())
    assert events[0] == Points({"loss": 0.5}, 0, 100.0, type="train")
    assert [(one.kind, one.name, one.type, one.step) for one in events if isinstance(one, Medium)] == [
        ("image", "val/img", None, 1),
        ("image", "imgs/0", "train", 2),
        ("image", "imgs/1", "train", 2),
        ("audio", "snd", "train", 3),
        ("audio", "snd2", "train", 4),
        ("text", "words", "train", 5),
        ("table", "pr", "train", 6),
        ("histogram", "hist", "train", 7),
    ]
    table = next(one for one in events if isinstance(one, Medium) and one.kind == "table")
    assert b'"rows": [[0.0, 4.0, 2.0, 0.0, 0.0, 0.5, 1.0], [1.0, 2.0, 0.0, 2.0, 2.0, 1.0, 0.5]]' in table.data
    assert [told.split(":")[0] for told in run.problems.all()] == ["graph", "plugin mesh"]
    assert [list(made.files) for made in run.artifacts] == [["0/events.out.tfevents.1.a"]]
    assert (run.created_at, run.ended_at) == (100.0, 108.0)


def test_a_run_is_the_same_wherever_it_lies(tmp_path: Path) -> None:
    for top in ("a", "b/c"):
        folder = tmp_path / top / "logs"
        folder.mkdir(parents=True)
        (folder / "events.out.tfevents.1.host").write_bytes(record(scalar_event(1.0, 0, tag="x", value=1.0)))
    first, second = (read(tmp_path / top)[0][0] for top in ("a", "b/c"))
    assert (first.key, first.fingerprint) == (second.key, second.fingerprint)


@pytest.mark.parametrize("damage", [b"\xff" * 40, bytes(40), b"\x08\0\0\0\0\0\0\x80" + bytes(4)])
def test_behind_damage_nothing_is_trusted_and_that_is_told(tmp_path: Path, damage: bytes) -> None:
    good = record(scalar_event(1.0, 0, tag="x", value=1.0))
    (tmp_path / "events.out.tfevents.1").write_bytes(good + damage + good)
    (run,), _ = read(tmp_path)
    assert len(list(run.events())) == 1
    assert "events.out.tfevents.1: the record at byte" in run.problems.all()[0]


def test_a_flipped_bit_leaves_out_that_event_only(tmp_path: Path) -> None:
    events = [bytearray(record(scalar_event(1.0, step, tag="x", value=1.0))) for step in range(3)]
    events[1][-5] ^= 0x40  # the last byte of the value, before the checksum
    (tmp_path / "events.out.tfevents.1").write_bytes(b"".join(events))
    (run,), _ = read(tmp_path)
    assert list(run.events()) == [Points({"x": 1.0}, step, 1.0, type="train") for step in (0, 2)]
    assert run.problems.all() == ["events.out.tfevents.1: event 1 is damaged: its checksum is another one"]


def test_checksums_of_much_data_are_those_of_little() -> None:
    data = bytes(range(256)) * 5
    assert [checksum_of(data[:size]) for size in range(300)] == [masked_crc32c(data[:size]) for size in range(300)]
    assert checksum_of(b"123456789") == masked(0xE3069283 ^ 0xFFFFFFFF)


def test_without_event_files_that_is_told(tmp_path: Path) -> None:
    assert read(tmp_path) == ([], [f"no TensorBoard event file (events.out.tfevents...) at {tmp_path}"])


def test_the_session_of_hyperparameters_has_a_group_and_an_end(tmp_path: Path) -> None:
    def session(content: bytes) -> bytes:
        return field(1, field(1, "_hparams_") + field(9, field(1, field(1, "hparams") + field(2, content))))

    lr = field(1, field(1, "lr") + field(2, double_field(2, 0.5)))
    (tmp_path / "events.out.tfevents.1.a").write_bytes(
        event(0, session(field(3, lr + field(4, "g1")))) + event(9, session(field(4, number_field(1, 2))))
    )
    (run,), problems = read(tmp_path)
    assert (problems, run.hparams, run.group, run.state) == ([], {"lr": 0.5}, "g1", "failed")
