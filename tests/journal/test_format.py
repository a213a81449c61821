"""The journal's bytes: cut anywhere, damaged anywhere, whole records come out."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu import journal
from danlu.journal import Kind, Layout

GOLDEN = Path(__file__).parent / "golden" / "version-1.journal"
NAN = float("nan")


def example() -> bytes:
    """One frame of every kind, with fixed values."""
    row = journal.row_struct(2).pack
    layout = Layout(1, "train", ("loss", "准确率"))
    return b"".join(
        [
            journal.file_header("00112233445566778899aabbccddeeff"),
            journal.encode_run({"run": "run-aaaaaaaaaaaaaaaaaaaaaaaaaa", "name": "golden", "created_at": 1.5}),
            journal.encode_layout(layout),
            journal.encode_points(1, [row(1, 2.0, NAN, 0.5, 0.25), row(2, 1.0, 1.0, NAN, math.inf)]),
            journal.encode_set("hparams", {"lr": 0.1}, remove=["old"], time=3.0),
            journal.encode_value("labels", ["a", "乙"], time=3.5),
            journal.encode_media({"kind": "text", "name": "note"}, "你好".encode()),
            journal.encode_output(2, 4.0, b"\xff\x00half"),
            journal.encode_branch(2, from_step=1, time=5.0),
            journal.encode_finish("failed", time=6.0, reason="ValueError"),
        ]
    )


def test_a_journal_of_version_1_is_read_for_ever() -> None:
    kept = GOLDEN.read_bytes()
    assert journal.read_file_header(kept) == ("00112233445566778899aabbccddeeff", 1)
    found = journal.scan(kept)
    assert (found.end, found.is_damaged) == (len(kept), False)
    run, layout, points, hparams, labels, media, output, branch, finish = found.frames
    assert journal.decode_json(run)["name"] == "golden"
    assert journal.decode_layout(layout) == Layout(1, "train", ("loss", "准确率"))
    columns = journal.columns(points, 2)
    assert (columns.layout, list(columns.steps), list(columns.times)) == (1, [1, 2], [2.0, 1.0])
    assert [str(epoch) for epoch in columns.epochs] == ["nan", "1.0"]
    assert [str(value) for value in columns.values[0]] == ["0.5", "nan"]
    assert list(columns.values[1]) == [0.25, math.inf]
    assert journal.decode_json(hparams) == {"field": "hparams", "set": {"lr": 0.1}, "remove": ["old"], "time": 3.0}
    assert journal.decode_json(labels)["value"] == ["a", "乙"]
    assert journal.decode_media(media) == ({"kind": "text", "name": "note"}, "你好".encode())
    assert journal.decode_output(output) == (2, 4.0, b"\xff\x00half")
    assert journal.decode_json(branch) == {"branch": 2, "from_step": 1, "time": 5.0}
    assert journal.decode_json(finish) == {"state": "failed", "time": 6.0, "reason": "ValueError"}


def test_what_is_written_today_is_still_version_1() -> None:
    assert example() == GOLDEN.read_bytes()


def test_cut_at_any_byte_the_whole_frames_before_it_remain() -> None:
    whole = example()
    all_frames = journal.scan(whole).frames
    for cut in range(journal.FILE_HEADER_BYTES, len(whole) + 1):
        found = journal.scan(whole[:cut])
        wanted = [frame for frame in all_frames if frame.end <= cut]
        assert [(frame.kind, frame.start, frame.end) for frame in found.frames] == [
            (frame.kind, frame.start, frame.end) for frame in wanted
        ]
        assert found.end == (wanted[-1].end if wanted else journal.FILE_HEADER_BYTES)
        assert not found.is_damaged


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_byte_ends_the_whole_part_before_it(data: st.DataObject) -> None:
    whole = example()
    all_frames = journal.scan(whole).frames
    at = data.draw(st.integers(journal.FILE_HEADER_BYTES, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    hurt = bytearray(whole)
    hurt[at] ^= 1 << bit
    found = journal.scan(hurt)
    before = [frame for frame in all_frames if frame.end <= at]
    assert [frame.end for frame in found.frames] == [frame.end for frame in before]


def test_zeros_after_a_power_cut_are_no_frames() -> None:
    whole = example()
    found = journal.scan(whole + bytes(4096))
    assert (found.end, found.is_damaged) == (len(whole), True)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 400), st.integers(0, 400))
def test_pieces_have_whole_frames_and_together_are_the_file(limit: int, cut: int) -> None:
    whole = example()
    part = whole[: len(whole) - cut] if cut < len(whole) else b""
    at, pieces = 0, []
    while True:
        end = journal.piece(part, at, limit)
        if end == at:
            break
        assert end - at <= limit
        pieces.append(part[at:end])
        at = end
    joined = b"".join(pieces)
    assert whole.startswith(joined)
    longest = max(frame.end - frame.start for frame in journal.scan(whole).frames)
    if limit >= longest + journal.FILE_HEADER_BYTES and len(part) > journal.FILE_HEADER_BYTES:
        assert len(joined) in (journal.scan(part).end, 0)


class TestBadFiles:
    def test_another_file_is_named_as_such(self) -> None:
        with pytest.raises(journal.BadJournal, match="not a journal: it begins with b'PK"):
            journal.read_file_header(b"PK\x03\x04" + bytes(30))

    def test_a_newer_version_asks_for_an_upgrade(self) -> None:
        newer = bytearray(example())
        newer[4] = 9
        with pytest.raises(journal.BadJournal, match="format 9, this danlu reads up to 1; upgrade"):
            journal.read_file_header(newer)

    def test_a_payload_that_is_too_large_is_refused(self) -> None:
        with pytest.raises(journal.BadJournal, match="at most 1048576 bytes"):
            journal.encode_frame(Kind.OUTPUT, bytes(journal.MAX_PAYLOAD_BYTES + 1))

    def test_points_of_the_wrong_width_are_refused(self) -> None:
        frame = next(frame for frame in journal.frames(example()) if frame.kind == Kind.POINTS)
        with pytest.raises(journal.BadJournal, match="are not 2 rows of 3 values"):
            journal.columns(frame, 3)


def test_run_ids_are_128_random_bits() -> None:
    made = {journal.new_run_id() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch("run-[a-z2-7]{26}", run_id) for run_id in made)
