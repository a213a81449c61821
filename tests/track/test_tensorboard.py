"""Event files of TensorBoard, written byte by byte as its writers do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from danlu import track
from danlu.importing.event_files import read_events
from danlu.journal.event_files import record as framed
from danlu.journal.event_files import scalar_event
from danlu.track.reading import open_journals, points, read_run
from danlu.track.tensorboard import import_tensorboard, split_tag


def field(number: int, value: object) -> bytes:
    """One field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    assert isinstance(value, bytes)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def simple_value(tag: str, value: float) -> bytes:
    return field(1, field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value))


def tensor_value(tag: str, value: float) -> bytes:
    """As TensorFlow 2 and Keras write scalars."""
    tensor = field(1, 1) + field(4, struct.pack("<f", value))
    metadata = field(1, field(1, b"scalars"))
    return field(1, field(1, tag.encode()) + field(8, tensor) + field(9, metadata))


def record(time: float, step: int, summary: bytes) -> bytes:
    event = field(1, time) + field(2, step) + field(5, summary)
    return framed(event)


def test_scalars_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "validation").mkdir()
    (tmp_path / "events.out.tfevents.1.a").write_bytes(
        record(100.0, 1, simple_value("train/loss", 0.5)) + record(101.0, 2, simple_value("val/loss", 0.25))
    )
    (tmp_path / "validation" / "events.out.tfevents.1.b").write_bytes(
        record(102.0, 3, tensor_value("epoch_loss", 0.125))
    )
    with track.start("imported") as run:
        found = import_tensorboard(tmp_path, run)
    assert found[:3] == (3, 0, 2)
    own = next(one for one in open_journals(run.path) if one.header["writer"] == "process")
    assert [(p.type, p.name, p.step, p.time, p.value) for p in points(own)] == [
        ("train", "loss", 1, 100.0, 0.5),
        ("val", "loss", 2, 101.0, 0.25),
        ("val", "epoch_loss", 3, 102.0, 0.125),
    ]


def hparams_value(**values: float | str | bool) -> bytes:
    """As SummaryWriter.add_hparams writes them."""
    entries = b""
    for name, value in values.items():
        kind = (
            field(4, int(value))
            if isinstance(value, bool)
            else field(3, value.encode())
            if isinstance(value, str)
            else field(2, float(value))
        )
        entries += field(1, field(1, name.encode()) + field(2, kind))
    metadata = field(1, field(1, b"hparams") + field(2, field(3, entries)))
    return field(1, field(1, b"_hparams_/session_start_info") + field(9, metadata))


def test_sibling_folders_are_runs_with_their_hyperparameters(tmp_path: Path) -> None:
    for number, name in enumerate(("lr0.1", "lr0.2", "deep/lr0.3")):
        folder = tmp_path / "logs" / name
        for inner in ("train", "validation", "1700000000.1234"):
            (folder / inner).mkdir(parents=True)
            tag = "hp/metric" if inner[0] == "1" else "loss"
            (folder / inner / "events.out.tfevents.1").write_bytes(record(100.0, 1, simple_value(tag, number)))
        start = hparams_value(lr=0.1 * (number + 1), layers=3, optimizer="adam", nesterov=True)
        (folder / "1700000000.1234" / "events.out.tfevents.2").write_bytes(record(100.0, 1, start))
    found = import_tensorboard(tmp_path / "logs")
    assert [run.name for run in found.runs] == ["logs/deep/lr0.3", "logs/lr0.1", "logs/lr0.2"]
    assert found[:3] == (9, 0, 12)
    known = read_run(found.runs[1].path)
    assert known.hparams == {"lr": 0.1, "layers": 3, "optimizer": "adam", "nesterov": True}


def test_cut_at_any_byte_what_is_whole_comes_out(tmp_path: Path) -> None:
    one = record(1.0, 1, simple_value("a", 0.5))
    path = tmp_path / "events.out.tfevents"
    for cut in range(2 * len(one) + 1):
        path.write_bytes((one + one)[:cut])
        assert len(list(read_events(str(path)))) == cut // len(one)


def test_a_damaged_event_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    events = [bytearray(framed(scalar_event(1.0, step, tag="x", value=1.0))) for step in range(3)]
    events[1][-5] ^= 0x40
    (tmp_path / "events.out.tfevents.1").write_bytes(b"".join(events))
    assert import_tensorboard(tmp_path).num_points == 2
    (told,) = [line for line in caplog.messages if "tfevents" in line]
    assert told.endswith("events.out.tfevents.1: event 1 is damaged: its checksum is another one; the rest is imported")


def test_noise_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents"
    path.write_bytes(struct.pack("<QI", 8, 0) + b"\xff" * 8 + bytes(4))
    assert list(read_events(str(path))) == []


def test_a_folder_without_event_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no TensorBoard event file"):
        import_tensorboard(tmp_path)


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [("eval/acc", ("test", "acc")), ("lr/group0", ("train", "lr/group0")), ("loss", ("train", "loss"))],
)
def test_tags(tag: str, wanted: tuple[str, str]) -> None:
    assert split_tag(tag, "train") == wanted
