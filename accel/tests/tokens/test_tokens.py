"""Token records: what was packed comes out, in sequences that keep documents whole, and damage is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from danlu_accel.records import LoaderOptions, StaleIterator, native
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.tokens import Packing, TokenBatch, TokenLoader, TooLong, documents_in, pack_tokens, read_token_index
from danlu_accel.tokens.index import parse_token_index
from danlu_accel.tokens.sequences import _best_fit, sequences_of

Document = npt.NDArray[Any]


def documents(count: int = 60, longest: int = 40, seed: int = 0) -> list[Document]:
    """Documents whose tokens are all different, so that each token can be told from every other."""
    lengths = np.random.default_rng(seed).integers(1, longest + 1, count)
    ends = np.cumsum(lengths)
    return [np.arange(end - length, end) for end, length in zip(ends, lengths)]


def whole(batches: list[TokenBatch]) -> list[list[int]]:
    """The documents of batches with positions, cut where one begins."""
    found: list[list[int]] = []
    for batch in batches:
        assert batch.positions is not None
        for tokens, length, places in zip(batch.tokens.tolist(), batch.lengths.tolist(), batch.positions.tolist()):
            assert all(place >= 0 for place in places[:length])
            assert all(place == -1 for place in places[length:])
            for token, place in zip(tokens[:length], places[:length]):
                if place == 0:
                    found.append([])
                found[-1].append(token)
    return found


class TestPackTokens:
    def test_documents_come_back_whole(self, tmp_path: Path) -> None:
        made = documents()
        pack_tokens(tmp_path / "train", made, bytes_per_token=4)
        packing = Packing(40, with_positions=True)
        with TokenLoader(tmp_path / "train.tokens", packing, batch_size=3) as loader:
            assert sorted(whole(list(loader))) == sorted(document.tolist() for document in made)

    @pytest.mark.parametrize(
        ("document", "told"),
        [
            ([], "document 0: expected whole numbers in one dimension, at least one"),
            ([0.5], "document 0: expected whole numbers"),
            ([[1]], "document 0: expected whole numbers in one dimension"),
            ([1, 70000], "token 70000: expected 0 to 65535"),
            ([-1], "token -1: expected 0 to 65535"),
        ],
    )
    def test_what_no_document_is_gets_named(self, tmp_path: Path, document: Any, told: str) -> None:
        with pytest.raises(ValueError, match=told):
            pack_tokens(tmp_path / "train", [document])
        assert list(tmp_path.iterdir()) == []

    def test_nothing_to_pack_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no documents to pack"):
            pack_tokens(tmp_path / "train", [])

    def test_a_file_of_another_program_is_cut_at_its_ends_of_text(self) -> None:
        found = [document.tolist() for document in documents_in(np.array([5, 6, 0, 7, 0, 8]), 0)]
        assert found == [[5, 6, 0], [7, 0], [8]]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An index."""
    folder = tmp_path_factory.mktemp("index")
    pack_tokens(folder / "train", documents(4000, 10))
    return (folder / "train.tokens").read_bytes()


class TestIndex:
    @given(cut=st.integers(0, 16_000))
    def test_a_cut_index_is_refused(self, raw: bytes, cut: int) -> None:
        with pytest.raises(BadRecordFile):
            parse_token_index(memoryview(raw[:cut]))

    @pytest.mark.parametrize("at", [0, 4, 8, 20, 40, 2000, -1])
    def test_a_changed_byte_is_refused(self, raw: bytes, at: int, tmp_path: Path) -> None:
        changed = bytearray(raw)
        changed[at] ^= 0x55
        (tmp_path / "train.tokens").write_bytes(changed)
        with pytest.raises(BadRecordFile):
            read_token_index(tmp_path / "train.tokens")


class TestPacking:
    def test_a_document_longer_than_a_sequence_is_refused_with_what_to_do(self, tmp_path: Path) -> None:
        index = pack_tokens(tmp_path / "train", [np.arange(9), np.arange(3)])
        with pytest.raises(ValueError, match=r"expected at least 9, .* got 8; 1 documents are longer: choose too_long"):
            sequences_of(index, Packing(8))

    def test_it_is_split_or_dropped_on_request(self, tmp_path: Path) -> None:
        index = pack_tokens(tmp_path / "train", [np.arange(9), np.arange(3)])
        split = sequences_of(index, Packing(4, too_long=TooLong.SPLIT))
        assert sorted(split.runs(np.arange(split.num_sequences)).num_tokens.tolist()) == [1, 3, 4, 4]
        dropped = sequences_of(index, Packing(4, too_long=TooLong("drop")))
        assert dropped.runs(np.arange(dropped.num_sequences)).num_tokens.tolist() == [3]

    @given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=60), capacity=st.integers(20, 40))
    def test_core_and_python_pack_the_same_and_nothing_overflows(self, lengths: list[int], capacity: int) -> None:
        chosen = np.zeros(len(lengths), np.int64)
        _best_fit(np.array(lengths), capacity, chosen)
        assert np.bincount(chosen, lengths).max() <= capacity
        if native.core is not None:
            by_core = np.zeros(len(lengths), np.int64)
            native.core.fit_documents(np.array(lengths, np.uint32), capacity, by_core)
            assert by_core.tolist() == chosen.tolist()

    def test_split_documents_follow_each_other_without_a_gap(self, tmp_path: Path) -> None:
        made = documents()
        pack_tokens(tmp_path / "train", made)
        packing = Packing(16, split_documents=True, pad_token=7, with_positions=True)
        with TokenLoader(tmp_path / "train.tokens", packing, batch_size=4, shuffle=False) as loader:
            batches = list(loader)
        tokens = [t for batch in batches for row, n in zip(batch.tokens.tolist(), batch.lengths) for t in row[:n]]
        assert tokens == np.concatenate(made).tolist()
        assert whole(batches) == [document.tolist() for document in made]
        last = batches[-1]
        assert set(last.tokens[-1, int(last.lengths[-1]) :].tolist()) <= {7}

    def test_targets_leave_out_padding_and_the_next_document(self) -> None:
        batch = TokenBatch(torch.tensor([[1, 2, 3, 0]]), torch.tensor([3]), torch.tensor([[0, 1, 0, -1]]))
        inputs, targets = batch.inputs_and_targets()
        assert inputs.tolist() == [[1, 2, 3]]
        assert targets.tolist() == [[2, -100, -100]]

    @pytest.mark.parametrize("too_long", [TooLong.SPLIT, TooLong.DROP])
    @given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=12), capacity=st.integers(2, 12))
    def test_a_target_is_the_token_that_follows_in_the_same_document(
        self, tmp_path_factory: pytest.TempPathFactory, too_long: TooLong, lengths: list[int], capacity: int
    ) -> None:
        folder = tmp_path_factory.mktemp("targets")
        # tokens of one document count up by one, and no document ends where another begins
        begins = np.cumsum([length + 2 for length in lengths])
        pack_tokens(folder / "train", [np.arange(begin - n - 2, begin - 2) for begin, n in zip(begins, [*lengths])])
        if too_long is TooLong.DROP and min(lengths) > capacity:
            return
        packing = Packing(capacity, too_long=too_long, with_positions=True)
        with TokenLoader(folder / "train.tokens", packing, options=LoaderOptions(threads=1)) as loader:
            for batch in loader:
                inputs, targets = batch.inputs_and_targets()
                within = targets != -100
                assert torch.equal(targets[within], inputs[within] + 1)
                follows = batch.tokens[:, 1:] == inputs + 1
                follows &= torch.arange(1, capacity) < batch.lengths[:, None]
                assert torch.equal(within, follows)


class TestTokenLoader:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        pack_tokens(tmp_path / "train", documents(3000, 400), shard_megabytes=1, bytes_per_token=4)
        return tmp_path / "train.tokens"

    def test_core_and_python_read_the_same(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with TokenLoader(path, Packing(512), batch_size=5) as loader:
            by_core = [batch.tokens.clone() for batch in loader]
        monkeypatch.setattr(native, "core", None)
        with TokenLoader(path, Packing(512), batch_size=5) as loader:
            for ours, theirs in zip(by_core, loader):
                assert torch.equal(ours, theirs.tokens)

    def test_a_batch_that_is_kept_is_never_overwritten(self, path: Path) -> None:
        with TokenLoader(path, Packing(512), batch_size=5) as loader:
            kept = [(batch.tokens, batch.tokens.clone()) for batch in loader]
        assert all(torch.equal(one, copy) for one, copy in kept)

    def test_threads_do_not_change_anything(self, path: Path) -> None:
        first, second = (
            TokenLoader(path, Packing(512), options=LoaderOptions(threads=threads, prefetch=threads))
            for threads in (1, 4)
        )
        with first, second:
            assert all(torch.equal(one.tokens, other.tokens) for one, other in zip(first, second))

    @pytest.mark.parametrize("how", ["core", "python"])
    def test_every_flipped_bit_is_found(self, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
        if how == "python":
            monkeypatch.setattr(native, "core", None)
        pack_tokens(tmp_path / "train", documents(100))
        shard = tmp_path / "train-00000.bin"
        sound = shard.read_bytes()
        for at in (0, 1, len(sound) // 2, len(sound) - 1):
            shard.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
            with (
                TokenLoader(tmp_path / "train.tokens", Packing(64)) as loader,
                pytest.raises(BadRecordFile, match="fail their checksum"),
            ):
                list(loader)

    def test_a_shard_that_shrinks_while_it_is_read_is_an_error(self, path: Path) -> None:
        with TokenLoader(path, Packing(512), batch_size=2) as loader:
            batches = iter(loader)
            next(batches)
            for shard in path.parent.glob("*.bin"):
                with shard.open("r+b") as file:
                    file.truncate(100)
            with pytest.raises(BadRecordFile, match="it was cut"):
                list(loader)

    def test_a_moved_loader_ends_its_iteration(self, path: Path) -> None:
        with TokenLoader(path, Packing(512)) as loader:
            batches = iter(loader)
            next(batches)
            loader.set_epoch(3)
            with pytest.raises(StaleIterator):
                next(batches)

    def test_epochs_differ_and_come_back(self, path: Path) -> None:
        with TokenLoader(path, Packing(512)) as loader:
            first, second = (torch.cat([batch.tokens for batch in loader]) for _ in range(2))
            assert not torch.equal(first, second)
            loader.set_epoch(0)
            assert torch.equal(first, torch.cat([batch.tokens for batch in loader]))
