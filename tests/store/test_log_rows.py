"""Rows of logs, as a terminal counts them."""

from __future__ import annotations

from danlu.store.logs.rows import PIECE_BYTES, READ_BYTES, LogRows, num_rows
from danlu.store.logs.segments import SEGMENT_BYTES


class TestNumRows:
    def test_line_feeds_count_and_returns_do_not(self) -> None:
        assert num_rows(b"a\n\r10%\r20%\r\nb") == 2

    def test_moving_up_takes_rows_back(self) -> None:
        assert num_rows(b"outer\ninner\x1b[A" * 10) == 0
        assert num_rows(b"a\nb\nc\n\x1b[2A\x1b[31mred\x1b[0m") == 1


class TestLogRows:
    def test_a_full_segment_is_read_once(self) -> None:
        reads: list[int] = []

        def read(job: str, attempt: int, rank: int, offset: int, limit: int) -> bytes:
            reads.append(offset)
            return b"x\n" * (limit // 2)

        rows = LogRows(read)
        first = rows.of_segment(("train-1", 1, 0, 0))
        assert first == rows.of_segment(("train-1", 1, 0, 0))
        assert first == (PIECE_BYTES // 2,) * (SEGMENT_BYTES // PIECE_BYTES)
        assert reads == list(range(0, SEGMENT_BYTES, READ_BYTES))

    def test_one_that_grows_is_counted_anew(self) -> None:
        stored = b"x\n"

        def read(job: str, attempt: int, rank: int, offset: int, limit: int) -> bytes:
            return stored[offset : offset + limit]

        rows = LogRows(read)
        assert rows.of_segment(("train-1", 1, 0, 0)) == (1,)
        stored += b"y\n"
        assert rows.of_segment(("train-1", 1, 0, 0)) == (2,)
