"""Tars and lines of other programs are indexed as they are, and what is no whole tar is an error."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu_accel.records import LoaderOptions, native
from danlu_accel.records.cli import main
from danlu_accel.records.errors import BadRecordFile
from danlu_accel.samples import SampleIndex, SampleLoader, index_samples, pack_samples, read_sample_index
from danlu_accel.samples.index import parse_sample_index

Write = Callable[..., Path]


def all_of(path: Path, **more: Any) -> list[dict[str, Any]]:
    """Return all samples of a data set in their order, one dict for each."""
    with SampleLoader(path, batch_size=1, shuffle=False, **more) as loader:
        return [{name: values[0] for name, values in batch.items()} for batch in loader]


def header(name: str, kind: bytes, size: int) -> bytes:
    """A header of a tar that says this, whatever it means."""
    member = tarfile.TarInfo(name)
    member.type = kind
    raw = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    raw[124:136] = b"\x80" + size.to_bytes(11, "big") if size >= 0 else b"\xff" + size.to_bytes(11, "big", signed=True)
    return sealed(raw)


def sealed(raw: bytes | bytearray) -> bytes:
    """The header with a checksum that is right."""
    blank = bytes(raw[:148]) + b" " * 8 + bytes(raw[156:])
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


class TestTars:
    def test_members_of_one_key_are_a_sample(self, tmp_path: Path, write_tar: Write) -> None:
        members = [("a/01.txt", b"one"), ("a/01.seg.txt", b"mask"), ("a/02.txt", b"two"), ("b/02.TXT", b"x")]
        write_tar(tmp_path / "t.tar", [*members[:2], ("README", b"no sample"), ("d/.hidden", b"none"), *members[2:]])
        index = index_samples([tmp_path / "t.tar"], tmp_path / "train")
        assert index.fields == ("txt", "seg.txt")
        assert all_of(tmp_path / "train.samples") == [
            {"__key__": "a/01", "txt": "one", "seg.txt": "mask"},
            {"__key__": "a/02", "txt": "two"},
            {"__key__": "b/02", "txt": "x"},
        ]

    @pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_long_names_and_every_format(self, tmp_path: Path, form: int, write_tar: Write) -> None:
        key = "/".join(["folder" * 5] * (4 if form == tarfile.USTAR_FORMAT else 12)) + "/文"
        write_tar(tmp_path / "t.tar", [(f"{key}.txt", b"long"), ("b.txt", b"")], form)
        index_samples([tmp_path / "t.tar"], tmp_path / "train")
        found = all_of(tmp_path / "train.samples")
        assert [(each["__key__"], each["txt"]) for each in found] == [(key, "long"), ("b", "")]

    def test_a_tar_of_the_tar_program(self, tmp_path: Path) -> None:
        folder = tmp_path / "files"
        folder.mkdir()
        for number in range(30):
            (folder / f"{number:03d}.txt").write_text(f"text {number}")
            (folder / f"{number:03d}.cls").write_text(f"{number}\n")
        (folder / "link.txt").symlink_to("/etc/passwd")
        command = ["tar", "--sort=name", "-cf", str(tmp_path / "t.tar"), "-C", str(folder), "."]
        subprocess.run(command, check=True)
        index_samples([tmp_path / "t.tar"], tmp_path / "train")
        found = all_of(tmp_path / "train.samples")
        assert [(each["txt"], int(each["cls"])) for each in found] == [(f"text {n}", n) for n in range(30)]

    def test_one_field_is_read_alone(self, tmp_path: Path, write_tar: Write) -> None:
        from danlu_accel.samples import SampleRecipe

        path = write_tar(tmp_path / "t.tar", [("a.bin", bytes(100_000)), ("a.txt", b"text")])
        index_samples([path], tmp_path / "train")
        raw = bytearray(path.read_bytes())
        raw[50_000] ^= 1
        path.write_bytes(raw)
        found = all_of(tmp_path / "train.samples", recipe=SampleRecipe(fields=["txt"]))
        assert found == [{"__key__": "a", "txt": "text"}]
        with pytest.raises(BadRecordFile, match=r"'bin' of the sample 'a'.* fails its checksum"):
            all_of(tmp_path / "train.samples")


class TestRefused:
    def index(self, path: Path) -> SampleIndex:
        return index_samples([path], path.parent / "train")

    @given(cut=st.integers(0, 10 * 1024 - 1))
    def test_a_tar_that_was_cut(self, tmp_path_factory: pytest.TempPathFactory, cut: int, write_tar: Write) -> None:
        folder = tmp_path_factory.mktemp("cut")
        path = write_tar(folder / "t.tar", [(f"{n}.txt", bytes([n]) * 700) for n in range(6)])
        raw = path.read_bytes()
        assert len(raw) == 10 * 1024
        path.write_bytes(raw[:cut])
        if cut > 6 * (512 + 1024):  # what was cut are zeros behind the end
            assert len(self.index(path).samples) == 6
            return
        with pytest.raises(BadRecordFile):
            self.index(path)
        assert not (folder / "train.samples").exists()

    def test_a_damaged_header_does_not_end_the_tar_quietly(self, tmp_path: Path, write_tar: Write) -> None:
        path = write_tar(tmp_path / "t.tar", [(f"{n}.txt", b"x") for n in range(6)])
        raw = bytearray(path.read_bytes())
        raw[3 * 1024 + 5] ^= 0xFF
        path.write_bytes(raw)
        with pytest.raises(BadRecordFile, match="at byte 3072 of 10240; it is damaged"):
            self.index(path)

    def test_tars_joined_by_cat(self, tmp_path: Path, write_tar: Write) -> None:
        path = write_tar(tmp_path / "t.tar", [("a.txt", b"x")])
        path.write_bytes(path.read_bytes() * 2)
        with pytest.raises(BadRecordFile, match="joined by cat"):
            self.index(path)

    @pytest.mark.parametrize(("name", "mode"), [("t.tar", "w:gz"), ("t.tar.gz", "w:gz"), ("t.tgz", "w:gz")])
    def test_a_compressed_tar(self, tmp_path: Path, name: str, mode: Any) -> None:
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.addfile(tarfile.TarInfo("a.txt"))
        with pytest.raises(BadRecordFile, match="uncompress"):
            self.index(tmp_path / name)

    def test_a_field_that_comes_twice(self, tmp_path: Path, write_tar: Write) -> None:
        with pytest.raises(BadRecordFile, match="'a' has the field 'txt' twice"):
            self.index(write_tar(tmp_path / "t.tar", [("a.txt", b"x"), ("a.txt", b"y")]))

    def test_more_fields_than_anybody_has(self, tmp_path: Path, write_tar: Write) -> None:
        with pytest.raises(BadRecordFile, match="at most 4096 different fields"):
            self.index(write_tar(tmp_path / "t.tar", [(f"a.{n}", b"") for n in range(5000)]))

    def test_a_sparse_file(self, tmp_path: Path) -> None:
        with (tmp_path / "a.bin").open("wb") as file:
            file.truncate(1 << 20)
            file.write(b"x")
        subprocess.run(["tar", "-Scf", "t.tar", "a.bin"], check=True, cwd=tmp_path)
        with pytest.raises(BadRecordFile, match="stored sparsely"):
            self.index(tmp_path / "t.tar")

    @pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, b"~"])
    @pytest.mark.parametrize("size", [-1, -512, -1536, 1 << 40, (1 << 63) - 1, 1 << 80])
    def test_a_header_with_a_hostile_size(self, tmp_path: Path, write_tar: Write, kind: bytes, size: int) -> None:
        path = write_tar(tmp_path / "t.tar", [(f"{n}.txt", b"x") for n in range(3)])
        raw = bytearray(path.read_bytes())
        raw[1024:1536] = header("1.txt", kind, size)
        path.write_bytes(raw)
        has_data = kind in (tarfile.REGTYPE, b"~")
        told = rf"'1\.txt' at byte 1024 is said to be of {size} bytes, and 8704 follow" if has_data else r"t\.tar: "
        with pytest.raises(BadRecordFile, match=told):
            self.index(path)

    def test_a_size_of_a_pax_header_is_not_believed_either(self, tmp_path: Path) -> None:
        with tarfile.open(tmp_path / "t.tar", "w", format=tarfile.PAX_FORMAT) as tar:
            member = tarfile.TarInfo("a.txt")
            member.pax_headers = {"size": str(1 << 70)}
            tar.addfile(member)
        with pytest.raises(BadRecordFile, match=rf"'a\.txt' at byte \d+ is said to be of {1 << 70} bytes"):
            self.index(tmp_path / "t.tar")

    def test_names_that_are_not_utf8(self, tmp_path: Path, write_tar: Write) -> None:
        path = write_tar(tmp_path / "t.tar", [("a.t\udcff", b"x")])
        with pytest.raises(BadRecordFile, match=r"sample 'a': its field: expected a name in UTF-8, got 't\\udcff'"):
            self.index(path)
        with pytest.raises(BadRecordFile, match=r"the file: expected a name in UTF-8, got '\\udcff\.tar'"):
            self.index(write_tar(tmp_path / "\udcff.tar", [("a.txt", b"x")]))
        index = self.index(write_tar(tmp_path / "key.tar", [("\udcff.txt", b"x")]))
        assert index.key(0) == "\ufffd"

    def test_long_names_without_an_end(self, tmp_path: Path) -> None:
        (tmp_path / "t.tar").write_bytes((header("x", tarfile.GNUTYPE_LONGNAME, 1) + bytes(512)) * 5000)
        with pytest.raises(BadRecordFile, match=r"t\.tar: expected an uncompressed tar"):
            self.index(tmp_path / "t.tar")

    @given(at=st.integers(0, 3 * 1024 - 1), byte=st.integers(0, 255), seal=st.booleans())
    def test_any_changed_byte_is_found_or_harmless(
        self, tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, seal: bool, write_tar: Write
    ) -> None:
        folder = tmp_path_factory.mktemp("changed")
        path = write_tar(folder / "t.tar", [(f"{n}.txt", bytes([n]) * 500) for n in range(3)])
        raw = bytearray(path.read_bytes())
        raw[at] = byte
        begin = at // 1024 * 1024
        if seal and at < begin + 512:  # a header that somebody made so
            raw[begin : begin + 512] = sealed(raw[begin : begin + 512])
        path.write_bytes(raw)
        try:
            index = self.index(path)
        except BadRecordFile:
            return
        assert int(index.parts["length"].max()) <= len(raw)

    def test_a_file_of_another_kind_a_missing_one_and_none(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("x")
        with pytest.raises(BadRecordFile, match=r"ends in \.tar, \.jsonl, \.txt, got '\.csv'"):
            self.index(tmp_path / "a.csv")
        with pytest.raises(BadRecordFile, match=r"cannot read .*No such file"):
            self.index(tmp_path / "b.tar")
        with pytest.raises(BadRecordFile, match="no samples in 0 files"):
            index_samples([], tmp_path / "train")

    def test_an_index_elsewhere(self, tmp_path: Path, write_tar: Write) -> None:
        path = write_tar(tmp_path / "t.tar", [("a.txt", b"x")])
        with pytest.raises(ValueError, match="name: expected a place beside the files"):
            index_samples([path], tmp_path / "other" / "train")


class TestCommand:
    def test_it_writes_an_index_beside_the_files(
        self, tmp_path: Path, write_tar: Write, capsys: pytest.CaptureFixture[str]
    ) -> None:
        paths = [write_tar(tmp_path / f"{n}.tar", [(f"{n}.txt", b"x")]) for n in range(2)]
        assert main(["index-samples", *map(str, paths)]) == 0
        assert "2 samples of txt in 2 files" in capsys.readouterr().out
        assert len(read_sample_index(tmp_path / "train.samples").samples) == 2

    def test_what_cannot_be_indexed_is_one_sentence(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["index-samples", str(tmp_path / "no.tar")]) == 2
        assert capsys.readouterr().err.startswith("danlu-records: cannot read ")


class TestLines:
    def test_each_line_is_a_sample(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_bytes(b'{"q": 1}\r\n\n  \n{"q": 2}')
        (tmp_path / "b.txt").write_text("erste Zeile\n第二\n")
        index_samples(tmp_path.glob("*.*"), tmp_path / "train")
        assert all_of(tmp_path / "train.samples") == [
            {"__key__": "a.jsonl:0", "json": {"q": 1}},
            {"__key__": "a.jsonl:1", "json": {"q": 2}},
            {"__key__": "b.txt:0", "txt": "erste Zeile"},
            {"__key__": "b.txt:1", "txt": "第二"},
        ]


class TestPackSamples:
    def test_what_was_packed_comes_back_and_is_a_tar_for_others(self, tmp_path: Path) -> None:
        samples: list[dict[str, Any]] = [
            {
                "__key__": f"s/{n}",
                "txt": f"text {n}",
                "cls": n,
                "json": {"n": [n]},
                "npy": np.arange(n),
                "raw": b"\0" * n,
            }
            for n in range(700)
        ]
        index = pack_samples(tmp_path / "train", samples, shard_megabytes=1)
        assert len(index.shards) > 2
        again = index_samples(tmp_path.glob("*.tar"), tmp_path / "again")
        assert again.name_of_data == index.name_of_data
        for found, packed in zip(all_of(tmp_path / "train.samples"), samples):
            assert {**found, "cls": int(found["cls"]), "npy": None} == {**packed, "npy": None}
            assert np.array_equal(found["npy"], packed["npy"])
        with tarfile.open(tmp_path / "train-00000.tar") as tar:
            assert tar.getnames()[:5] == [f"s/0.{field}" for field in ("txt", "cls", "json", "npy", "raw")]

    @pytest.mark.parametrize(
        ("sample", "told"),
        [
            ({}, "sample 0: expected at least one field"),
            ({"txt": 1.5}, "sample 0, field 'txt': expected bytes, text"),
            ({"npy": np.array([None])}, "sample 0, field 'npy': expected"),
            ({"a/b": b""}, "sample 0: expected a key without dots"),
            ({"TXT": b""}, "fields in lower case"),
            ({"__key__": "a.b", "txt": "x"}, "expected a key without dots .* got 'a.b'"),
            ({"__key__": "", "txt": "x"}, "expected a key"),
        ],
    )
    def test_what_no_sample_is_gets_named(self, tmp_path: Path, sample: Any, told: str) -> None:
        with pytest.raises(ValueError, match=told):
            pack_samples(tmp_path / "train", [sample])
        assert list(tmp_path.iterdir()) == []

    def test_nothing_and_one_key_twice_are_errors(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="no samples to pack"):
            pack_samples(tmp_path / "train", [])
        with pytest.raises(ValueError, match="sample 1: has the key of the one before it, 'a'"):
            pack_samples(tmp_path / "train", [{"__key__": "a", "txt": "x"}, {"__key__": "a", "cls": 1}])


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An index."""
    folder = tmp_path_factory.mktemp("index")
    pack_samples(folder / "train", ({"txt": f"{n}", "cls": n} for n in range(200)))
    return (folder / "train.samples").read_bytes()


class TestIndex:
    @given(cut=st.integers(0, 10_000))
    def test_a_cut_index_is_refused(self, raw: bytes, cut: int) -> None:
        assert len(raw) > 10_000
        with pytest.raises(BadRecordFile):
            parse_sample_index(memoryview(raw[:cut]))

    @pytest.mark.parametrize("at", [0, 4, 8, 20, 40, 2000, -1])
    def test_a_changed_byte_is_refused(self, raw: bytes, at: int, tmp_path: Path) -> None:
        changed = bytearray(raw)
        changed[at] ^= 0x55
        (tmp_path / "train.samples").write_bytes(changed)
        with pytest.raises(BadRecordFile):
            read_sample_index(tmp_path / "train.samples")

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (lambda index: index.parts["offset"].__setitem__(3, 1 << 63), "ends behind the end"),
            (lambda index: index.parts["length"].__setitem__(3, (1 << 64) - 1), "ends behind the end"),
            (lambda index: index.parts["field"].__setitem__(3, 7), "a part of field 7"),
            (lambda index: index.samples["num_parts"].__setitem__(3, 9), "parts, its samples name"),
            (lambda index: index.samples["key_bytes"].__setitem__(3, 0), "bytes of keys"),
            (lambda index: object.__setattr__(index, "shard_sizes", (199,)), "200 samples, 199 in its shards"),
            (
                lambda index: object.__setattr__(index, "shards", (type(index.shards[0])("../x.tar", 1 << 40),)),
                "expected shards beside the index",
            ),
        ],
    )
    def test_an_index_that_contradicts_itself_is_refused(
        self, raw: bytes, tmp_path: Path, change: Any, told: str
    ) -> None:
        """With a checksum that is right: whoever made it wanted it so."""
        from danlu_accel.samples.index import write_sample_index

        index = parse_sample_index(memoryview(bytearray(raw)))
        change(index)
        write_sample_index(tmp_path / "bad.samples", index)
        with pytest.raises(BadRecordFile, match=told):
            read_sample_index(tmp_path / "bad.samples")


@pytest.mark.parametrize("how", ["core", "python"])
def test_every_flipped_bit_is_found(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "python":
        monkeypatch.setattr(native, "core", None)
    pack_samples(tmp_path / "train", ({"txt": "x" * 50} for _ in range(20)))
    shard = tmp_path / "train-00000.tar"
    sound = shard.read_bytes()
    for at in (512, 540, 1536 + 1024, 512 + 19 * 1024 + 49):
        shard.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(BadRecordFile, match="fails its checksum"):
            all_of(tmp_path / "train.samples", options=LoaderOptions(threads=1))
