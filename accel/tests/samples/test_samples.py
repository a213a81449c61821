"""What becomes of a sample: text, numbers, arrays, sound, images; by name, by a decoder, by a transform."""

from __future__ import annotations

import ast
import io
import struct
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from danlu_accel.records import (
    BrokenImage,
    LoaderOptions,
    Mixing,
    Recipe,
    RecordLoader,
    StaleIterator,
    Unavailable,
    native,
    training_recipe,
)
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.records.recipe import Crop
from danlu_accel.samples import Audio, SampleLoader, SampleRecipe, SampleSource, pack_samples, pad
from danlu_accel.samples.audio import decode_audio
from danlu_accel.samples.decoding import decode_field


def wav(values: Any, width: int = 2, rate: int = 16_000) -> bytes:
    """A WAV of whole numbers, frames by channels."""
    frames = np.asarray(values)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(frames.shape[1])
        out.setsampwidth(width)
        out.setframerate(rate)
        raw = frames.astype("<i4").tobytes() if width == 4 else frames.astype("<i2").tobytes()
        if width == 3:
            raw = b"".join(int(value).to_bytes(3, "little", signed=True) for value in frames.reshape(-1))
        if width == 1:
            raw = (frames + 128).astype(np.uint8).tobytes()
        out.writeframes(raw)
    return file.getvalue()


class TestDecoding:
    @pytest.mark.parametrize(
        ("name", "data", "value"),
        [
            ("txt", "文字".encode(), "文字"),
            ("caption.txt", b"x", "x"),
            ("json", b'{"a": [1]}', {"a": [1]}),
            ("cls", b" 7\n", 7),
            ("cls", b"1" * 200 + b"\n", int("1" * 200)),
            ("pkl", b"cos\nsystem\n(S'false'\ntR.", b"cos\nsystem\n(S'false'\ntR."),
        ],
    )
    def test_by_name(self, name: str, data: bytes, value: Any) -> None:
        assert decode_field(name, memoryview(data)) == value

    @pytest.mark.parametrize(
        ("name", "data", "told"),
        [
            ("txt", b"\xff", "expected UTF-8"),
            ("json", b"{", "expected JSON, got b'{'"),
            ("json", b"[" * 100_000, "expected JSON"),
            ("cls", b"seven", "expected a whole number, got b'seven'"),
            ("cls", b"1" * 5000, "expected a whole number, got 5000 bytes that begin with b'111"),
            ("cls", b"1" * 40 + b"x", "expected a whole number, got"),
            ("npy", b"no array", "expected a numpy array"),
            ("wav", b"RIFF\0\0\0\0WAVE", "without data"),
            ("wav", b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "without a format"),
        ],
    )
    def test_what_is_not_what_its_name_says_is_told(self, name: str, data: bytes, told: str) -> None:
        with pytest.raises(BadRecordFile, match=told):
            decode_field(name, memoryview(data))

    @pytest.mark.parametrize(
        "array",
        [
            np.arange(6).reshape(2, 3),
            np.asfortranarray(np.ones((2, 3))),
            np.array(1.5),
            np.zeros((0, 4), ">i2"),
            np.array(["文", "ab"]),
            np.array(["2026-11-19"], "M8[D]"),
            np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")]),
            np.array([True]),
        ],
    )
    def test_arrays(self, array: Any) -> None:
        file = io.BytesIO()
        np.save(file, array)
        found = decode_field("npy", memoryview(file.getvalue()))
        assert np.array_equal(found, array)
        assert found.dtype == array.dtype

    def test_arrays_need_no_parser_of_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Before Python 3.11.8 that is not safe in threads: SystemError, AST constructor recursion depth mismatch."""
        file = io.BytesIO()
        np.save(file, np.ones((2, 3), np.float32))
        monkeypatch.setattr("ast.literal_eval", None)
        assert decode_field("npy", memoryview(file.getvalue())).tolist() == [[1, 1, 1], [1, 1, 1]]

    def test_a_parser_of_python_that_fails_in_threads_is_asked_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = io.BytesIO()
        np.save(file, np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")]))
        parse = ast.literal_eval
        failures = iter([SystemError("AST constructor recursion depth mismatch")])

        def fail_once(text: str) -> Any:
            for error in failures:
                raise error
            return parse(text)

        monkeypatch.setattr(ast, "literal_eval", fail_once)
        assert decode_field("npy", memoryview(file.getvalue())).tolist() == [(1, 2.5)]

    def test_an_array_that_promises_more_than_there_is_gets_no_memory(self) -> None:
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
        with pytest.raises(BadRecordFile, match="expected a numpy array"):
            decode_field("npy", memoryview(file.getvalue() + bytes(80)))

    @pytest.mark.parametrize(
        "header",
        [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }) + (",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1 << 3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
            "{'descr': [('a', '<f8', -1)], 'fortran_order': False, 'shape': (3,), }",
            "'" + "(" * 900,
            "-" * 900 + "1",
            "\0",
            "{'descr': '<f8'",
            "0777",
        ],
    )
    def test_an_array_whose_header_is_broken_is_named(self, header: str, tmp_path: Path) -> None:
        raw = header.encode("latin1")
        data = b"\x93NUMPY\1\0" + struct.pack("<H", len(raw)) + raw + bytes(24)
        pack_samples(tmp_path / "bad", [{"__key__": "a", "npy": data}])
        with (
            SampleLoader(tmp_path / "bad.samples") as loader,
            pytest.raises(BadRecordFile, match=r"bad-00000\.tar: sample 'a', field 'npy': expected a numpy array"),
        ):
            next(iter(loader))

    def test_an_array_of_objects_is_never_loaded(self) -> None:
        file = io.BytesIO()
        np.save(file, np.array([{}]), allow_pickle=True)
        with pytest.raises(BadRecordFile, match="would be a pickle"):
            decode_field("npy", memoryview(file.getvalue()))


class TestAudio:
    @pytest.mark.parametrize("width", [1, 2, 3, 4])
    def test_whole_numbers_of_every_width(self, width: int) -> None:
        full = 1 << (8 * width - 1)
        frames = np.array([[-full, 0], [full // 2, full - 1], [1, -1]])
        found = decode_audio(wav(frames, width, 8000))
        assert found.rate == 8000
        assert found.samples.dtype == np.float32
        assert np.allclose(found.samples, (frames / full).T)

    def test_floats(self) -> None:
        body = struct.pack("<HHIIHH", 3, 1, 16_000, 64_000, 4, 32)
        sound = np.array([0.5, -0.25], "<f4").tobytes()
        data = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0" + body + b"data" + struct.pack("<I", len(sound)) + sound
        assert decode_audio(data).samples.tolist() == [[0.5, -0.25]]

    def test_a_cut_one_is_an_error(self) -> None:
        with pytest.raises(BadRecordFile, match="200 bytes of sound, of which 150 are there; it was cut"):
            decode_audio(wav(np.zeros((100, 1)))[:-50])

    def test_flac_by_soundfile(self) -> None:
        soundfile = pytest.importorskip("soundfile")
        file = io.BytesIO()
        values = (np.sin(np.arange(800) / 9) * 0.5).astype(np.float32)
        soundfile.write(file, values, 8000, format="FLAC", subtype="PCM_16")
        found = decode_audio(file.getvalue())
        assert (found.rate, found.samples.shape) == (8000, (1, 800))
        assert np.abs(found.samples[0] - values).max() < 1e-4
        with pytest.raises(BadRecordFile, match="no sound that can be read"):
            decode_audio(b"fLaC" + bytes(20))

    def test_without_soundfile_the_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
        with pytest.raises(Unavailable, match=r"pip install 'danlu-accel\[audio\]'"):
            decode_audio(b"fLaC")


class TestBatches:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        sounds = [wav(np.full((10 + n % 3, 1), n)) for n in range(12)]
        pack_samples(tmp_path / "train", ({"wav": sounds[n], "txt": f"said {n}", "cls": n} for n in range(12)))
        return tmp_path / "train.samples"

    def test_sound_of_different_lengths_stays_a_list_that_can_be_padded(self, path: Path) -> None:
        with SampleLoader(path, batch_size=3, shuffle=False) as loader:
            batch = next(iter(loader))
        assert [each.samples.shape for each in batch["wav"]] == [(1, 10), (1, 11), (1, 12)]
        padded, lengths = pad([each.samples for each in batch["wav"]])
        assert (tuple(padded.shape), lengths.tolist()) == ((3, 1, 12), [10, 11, 12])
        assert torch.equal(padded[2, 0], torch.full((12,), 2 / 32768))
        assert padded[0, 0, 10:].tolist() == [0, 0]

    def test_sound_of_one_length_is_one_tensor(self, path: Path) -> None:
        recipe = SampleRecipe(transform=lambda sample: Audio(sample["wav"].samples[:, :10], sample["wav"].rate))
        with SampleLoader(path, recipe, batch_size=4) as loader:
            batch = next(iter(loader))
        assert (tuple(batch.samples.shape), batch.rate.tolist()) == ((4, 1, 10), [16_000] * 4)

    def test_a_decoder_a_transform_and_a_collate_of_ones_own(self, path: Path) -> None:
        recipe = SampleRecipe(
            fields=["txt", "cls"],
            decoders={"txt": lambda data: data.decode().upper()},
            transform=lambda sample: (sample["txt"], sample["cls"], sample["__seed__"]),
            collate=lambda samples: samples,
        )
        with SampleLoader(path, recipe, batch_size=4) as loader:
            first = [sample for batch in loader for sample in batch]
            loader.set_epoch(0)
            again = [sample for batch in loader for sample in batch]
        assert first == again
        assert sorted(cls for _, cls, _ in first) == list(range(12))
        assert all(text == f"SAID {cls}" for text, cls, _ in first)
        assert len({seed for _, _, seed in first}) == 12

    def test_a_missing_field_and_a_damaged_one_name_the_sample(self, path: Path, tmp_path: Path) -> None:
        with (
            SampleLoader(path, SampleRecipe(fields=["flac"])) as loader,
            pytest.raises(
                BadRecordFile, match=r"sample '0000000\d\d': expected the fields flac, it has no flac, but wav"
            ),
        ):
            next(iter(loader))
        pack_samples(tmp_path / "bad", [{"__key__": "a", "cls": "x"}])
        with (
            SampleLoader(tmp_path / "bad.samples") as loader,
            pytest.raises(BadRecordFile, match=r"bad-00000\.tar: sample 'a', field 'cls': expected a whole number"),
        ):
            next(iter(loader))

    def test_after_an_error_the_loader_goes_on_with_the_same_batch(self, tmp_path: Path) -> None:
        pack_samples(tmp_path / "train", ({"cls": n} for n in range(9)))
        broken = {4}

        def fail(sample: Any) -> Any:
            if sample["cls"] in broken:
                raise RuntimeError("mine")
            return sample["cls"]

        with SampleLoader(
            tmp_path / "train.samples", SampleRecipe(transform=fail), batch_size=3, shuffle=False
        ) as loader:
            batches = iter(loader)
            assert next(batches).tolist() == [0, 1, 2]
            with pytest.raises(RuntimeError, match="mine"):
                next(batches)
            broken.clear()
            assert [batch.tolist() for batch in loader] == [[3, 4, 5], [6, 7, 8]]

    def test_a_moved_loader_ends_its_iteration(self, path: Path) -> None:
        with SampleLoader(path, batch_size=2) as loader:
            batches = iter(loader)
            next(batches)
            loader.set_epoch(3)
            with pytest.raises(StaleIterator):
                next(batches)

    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ({"fields": "txt"}, "fields: expected names in a list"),
            ({"fields": []}, "fields: expected at least one"),
            ({"decoders": {"txt": 3}}, r"decoders\['txt'\]: expected a Recipe or a callable"),
        ],
    )
    def test_a_recipe_that_makes_no_sense(self, more: Any, told: str) -> None:
        with pytest.raises(ValueError, match=told):
            SampleRecipe(**more)

    def test_mixed_images_are_left_to_record_loader(self, path: Path) -> None:
        with pytest.raises(ValueError, match=r"mixing: expected None for samples, .* RecordLoader mixes images"):
            SampleLoader(path, options=LoaderOptions(mixing=Mixing(10, mixup_alpha=0.2)))

    def test_pad_refuses_other_shapes(self) -> None:
        with pytest.raises(ValueError, match="differ in their last dimension only"):
            pad([np.zeros((1, 3)), np.zeros((2, 3))])


class TestImages:
    @pytest.fixture
    def path(self, tmp_path: Path, photo: Callable[..., bytes]) -> Path:
        samples = ({"jpg": photo(seed=n), "cls": n} for n in range(8))
        pack_samples(tmp_path / "train", samples)
        return tmp_path / "train.samples"

    def test_without_a_recipe_they_are_pil_images(self, path: Path) -> None:
        with SampleLoader(path, batch_size=2) as loader:
            batch = next(iter(loader))
        assert all(isinstance(each, Image.Image) and each.size == (96, 64) for each in batch["jpg"])

    @pytest.mark.parametrize("channels_last", [False, True])
    @pytest.mark.parametrize("how", ["core", "python"])
    def test_a_recipe_makes_a_batch_of_them(
        self, path: Path, how: str, channels_last: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = LoaderOptions(channels_last=channels_last, threads=2)
        recipe = SampleRecipe(decoders={"jpg": training_recipe(48)})

        def made() -> list[tuple[torch.Tensor, torch.Tensor]]:
            with SampleLoader(path, recipe, batch_size=3, options=options) as loader:
                return [(batch["jpg"], batch["cls"]) for batch in loader]

        expected = made()
        if how == "python":
            monkeypatch.setattr(native, "core", None)
        for (images, labels), (others, other_labels) in zip(made(), expected):
            assert tuple(images.shape[1:]) == (3, 48, 48)
            assert images.dtype == torch.float32
            assert torch.equal(labels, other_labels)
            assert (images - others).abs().max() < 0.03  # within a level or two

    def test_they_are_what_record_loader_makes_of_the_same_pixels(self, packed: Callable[..., Path]) -> None:
        """A whole image, without anything random, from tfrecord shards by both loaders."""
        index = packed(8)
        recipe = Recipe(Crop.WHOLE, 24, 32)
        with (
            RecordLoader(index.parent, index.name, recipe, batch_size=4) as images,
            SampleLoader(index, SampleRecipe(decoders={"jpg": recipe}), batch_size=4) as samples,
        ):
            for (expected, labels), batch in zip(images, samples):
                assert torch.equal(batch["jpg"], expected)
                assert torch.equal(batch["cls"], labels)

    def test_an_image_that_is_kept_is_never_overwritten(self, path: Path) -> None:
        recipe = SampleRecipe(decoders={"jpg": training_recipe(32)})
        with SampleLoader(path, recipe, batch_size=2) as loader:
            kept = [(batch["jpg"], batch["jpg"].clone()) for _ in range(3) for batch in loader]
        assert all(torch.equal(one, copy) for one, copy in kept)

    @pytest.mark.parametrize("own", ["transform", "collate"])
    @pytest.mark.parametrize("with_core", [True, False])
    def test_an_image_that_code_of_the_users_keeps_is_never_overwritten(
        self, path: Path, own: str, with_core: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not with_core:
            monkeypatch.setattr(native, "core", None)
        kept: list[tuple[Any, Any]] = []

        def keep(given: Any) -> int:
            for sample in given if isinstance(given, list) else [given]:
                kept.append((sample["jpg"], sample["jpg"].copy()))
            return 0

        recipe = SampleRecipe(decoders={"jpg": training_recipe(32)}, **{own: keep})  # type: ignore[arg-type]
        with SampleLoader(path, recipe, batch_size=2) as loader:
            for _ in range(3):
                for _ in loader:
                    pass
        assert len(kept) == 24
        assert all(np.array_equal(image, copy) for image, copy in kept)

    def test_a_broken_one_names_its_sample(self, tmp_path: Path) -> None:
        pack_samples(tmp_path / "train", [{"__key__": "bad", "jpg": b"\xff\xd8\xff no image"}])
        recipe = SampleRecipe(decoders={"jpg": training_recipe(32)})
        with (
            SampleLoader(tmp_path / "train.samples", recipe) as loader,
            pytest.raises(BrokenImage, match="sample 'bad', field 'jpg'"),
        ):
            next(iter(loader))

    def test_packed_images_and_a_tar_are_mixed(self, packed: Callable[..., Path], path: Path) -> None:
        sources = [SampleSource(packed(8), 3), SampleSource(path, 1)]
        recipe = SampleRecipe(decoders={"jpg": training_recipe(32)})
        with SampleLoader(sources, recipe, batch_size=50, epoch_samples=400) as loader:
            keys = [key for batch in loader for key in batch["__key__"]]
        from_tar = sum(len(key) == 9 for key in keys)
        assert 80 <= from_tar <= 120
