"""Logs in blocks of 32 KiB: whole, cut, damaged and made up."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.support.foreign_files import BLOCK_BYTES, WANDB_HEADER, transaction_log

from danlu.importing.transaction_log import Damage, NotALog, read_records
from danlu.importing.wandb.log import MAGIC


def read(path: Path, data: bytes) -> tuple[list[bytes], Damage]:
    damage = Damage()
    file = path / "run.wandb"
    file.write_bytes(data)
    with file.open("rb") as opened:
        return list(read_records(opened, MAGIC, damage=damage)), damage


SIZES = (0, 1, 100, BLOCK_BYTES - 14, BLOCK_BYTES - 7, BLOCK_BYTES, 3 * BLOCK_BYTES + 5, 7, 0, 32_745, 1)


def test_records_of_every_size_come_out(tmp_path: Path) -> None:
    records = [bytes([at % 251]) * size for at, size in enumerate(SIZES)]
    found, damage = read(tmp_path, transaction_log(WANDB_HEADER, records))
    assert found == records
    assert damage.problem == ""


def test_cut_anywhere_what_is_whole_comes_out(tmp_path: Path) -> None:
    records = [b"a" * 20, b"b" * 40_000, b"c" * 10]
    data = transaction_log(WANDB_HEADER, records)
    for cut in [*range(7, 60), *range(60, len(data), 1777), len(data) - 1]:
        found, damage = read(tmp_path, data[:cut])
        assert found == records[: len(found)]
        assert len(found) < 3
        assert damage.is_cut or cut in (7, 34)  # cut between two records it looks whole


def test_behind_a_damaged_place_it_goes_on_with_the_next_block(tmp_path: Path) -> None:
    records = [bytes([at]) * 1000 for at in range(100)]
    data = bytearray(transaction_log(WANDB_HEADER, records))
    data[5000] ^= 255
    found, damage = read(tmp_path, bytes(data))
    assert found == [*records[:4], *records[33:]]  # the rest of the first block, and what began in it, is lost
    assert damage.places == [7 + 4 * 1007]
    assert "1 damaged places" in damage.problem


@pytest.mark.parametrize("head", [b"", b":W&B", b"SQLite format 3\0", struct.pack("<4sHB", b":W&B", 0xBEE1, 9)])
def test_what_is_no_log_is_refused(tmp_path: Path, head: bytes) -> None:
    with pytest.raises(NotALog, match=r"not a \.wandb file|of version 9"):
        read(tmp_path, head)


def test_a_record_without_end_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("danlu.importing.transaction_log.MAX_RECORD_BYTES", 100_000)
    found, damage = read(tmp_path, transaction_log(WANDB_HEADER, [b"x" * 150_000, b"after"]))
    assert found == [b"after"]
    assert len(damage.places) == 1
