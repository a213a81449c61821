"""Lists, packing, checking, unpacking, and the command line around them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from danlu_accel.records import (
    BadImageList,
    BrokenImage,
    IndexTFRDataset,
    ListedImage,
    OnBroken,
    PackOptions,
    Rewriting,
    check,
    class_names,
    describe,
    labels_of_folders,
    list_images,
    native,
    pack,
    read_label_map,
    read_list,
    sources_from_coco,
    sources_from_list,
    unpack,
    write_label_map,
    write_list,
)
from danlu_accel.records.cli import main
from danlu_accel.records.prepare import same_pixels


class TestLists:
    def test_a_list_comes_back_as_written(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        images, labels = list_images(photo_folder(7))
        write_list(tmp_path / "list", images)
        assert read_list(tmp_path / "list") == images
        assert labels == {"class_0": 0, "class_1": 1, "class_2": 2}
        assert [image.label for image in images] == [0, 0, 0, 1, 1, 2, 2]

    def test_paths_may_have_blanks(self, tmp_path: Path) -> None:
        (tmp_path / "list").write_text("my cat/a b.jpg 3\n\n")
        assert [(image.path, image.label) for image in read_list(tmp_path / "list")] == [("my cat/a b.jpg", 3)]

    @pytest.mark.parametrize("name", ["map.json", "map.pkl"])
    def test_label_maps_come_back_as_written(self, tmp_path: Path, name: str) -> None:
        write_label_map(tmp_path / name, {"猫": 4, "dog": 1})
        assert read_label_map(tmp_path / name) == {"猫": 4, "dog": 1}

    def test_a_given_label_map_is_used(self, photo_folder: Callable[..., Path]) -> None:
        images, _ = list_images(photo_folder(3), {"class_0": 10, "class_1": 5, "class_2": 7})
        assert [image.label for image in images] == [10, 5, 7]

    def test_a_folder_that_the_map_does_not_know_is_an_error(self, photo_folder: Callable[..., Path]) -> None:
        with pytest.raises(BadImageList, match="'class_1' is not in the label map"):
            list_images(photo_folder(3), {"class_0": 0, "class_2": 1})

    def test_names_stand_at_their_numbers(self) -> None:
        assert class_names({"dog": 3, "cat": 1, "hound": 3}) == ("", "cat", "", "dog, hound")
        assert class_names({}) == ()

    @pytest.mark.parametrize("number", [-1, 1 << 20])
    def test_a_number_that_no_name_can_stand_at_is_named(self, number: int) -> None:
        with pytest.raises(BadImageList, match=f"'cat': expected 0 to 1048575, got {number}"):
            class_names({"cat": number})

    def test_a_list_speaks_of_its_labels(self) -> None:
        listed = [ListedImage("cat/a/1.jpg", 7), ListedImage("dog/2.jpg", 3)]
        assert labels_of_folders(listed) == {"cat": 7, "dog": 3}
        assert labels_of_folders([*listed, ListedImage("cat/3.jpg", 8)]) == {}
        assert labels_of_folders([*listed, ListedImage("3.jpg", 8)]) == {}
        assert labels_of_folders([*listed, ListedImage("cow/3.jpg", -1)]) == {}

    @pytest.mark.parametrize("line", ["nolabel", "a.jpg x", " 3"])
    def test_a_bad_line_is_named(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "list").write_text(f"a.jpg 1\n{line}\n")
        with pytest.raises(BadImageList, match="line 2"):
            read_list(tmp_path / "list")


def pack_folder(folder: Path, target: Path, **options: object) -> object:
    images, labels = list_images(folder)
    return pack(folder, sources_from_list(images, list(labels)), target, options=PackOptions(**options))  # type: ignore[arg-type]


class TestPack:
    def test_workers_and_none_write_the_same_bytes(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(20)
        pack_folder(folder, tmp_path / "a" / "x", workers=0, num_shards=3)
        pack_folder(folder, tmp_path / "b" / "x", workers=4, num_shards=3)
        first = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
        second = {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}
        assert first == second
        assert set(first) == {
            "x.index",
            *(f"x-0000{n}-of-00003.{kind}" for n in range(3) for kind in ("idx", "tfrecord")),
        }

    def test_keep_bytes_keeps_every_byte(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(5)
        pack_folder(folder, tmp_path / "x", rewriting=Rewriting(restart_markers=False))
        assert unpack(tmp_path / "x.index", tmp_path / "back") == 5
        for path in folder.rglob("*.jpg"):
            assert (tmp_path / "back" / path.relative_to(folder)).read_bytes() == path.read_bytes()

    def test_restart_markers_change_no_pixel(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(5)
        pack_folder(folder, tmp_path / "x")
        unpack(tmp_path / "x.index", tmp_path / "back")
        for path in folder.rglob("*.jpg"):
            packed = (tmp_path / "back" / path.relative_to(folder)).read_bytes()
            assert same_pixels(packed, path.read_bytes())
            assert (packed != path.read_bytes()) == (native.core is not None)

    def test_broken_images_are_listed_skipped_or_fatal(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(6)
        (folder / "class_0" / "000.jpg").write_bytes(b"nonsense")
        cut = folder / "class_1" / "001.jpg"
        cut.write_bytes(cut.read_bytes()[:400])
        listed = pack_folder(folder, tmp_path / "l" / "x", on_broken=OnBroken.LIST)
        assert (listed.num_images, [path for path, _ in listed.broken]) == (4, ["class_0/000.jpg", "class_1/001.jpg"])
        assert (tmp_path / "l" / "x.broken.txt").read_text().count("\n") == 2
        pack_folder(folder, tmp_path / "s" / "x", on_broken=OnBroken.SKIP)
        assert not (tmp_path / "s" / "x.broken.txt").exists()
        with pytest.raises(BrokenImage, match=r"class_0/000\.jpg"):
            pack_folder(folder, tmp_path / "f" / "x", on_broken=OnBroken.FAIL)

    def test_an_interrupted_pack_goes_on_where_it_was(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        folder = photo_folder(12)
        images, labels = list_images(folder)
        sources = sources_from_list(images, list(labels))

        def stop_in_the_third_shard(done: int, _: int) -> None:
            if done == 6:
                raise KeyboardInterrupt

        options = PackOptions(num_shards=4)
        interrupted = PackOptions(num_shards=4, progress=stop_in_the_third_shard)
        with pytest.raises(KeyboardInterrupt):
            pack(folder, sources, tmp_path / "a" / "x", options=interrupted)
        assert not (tmp_path / "a" / "x.index").exists()
        resumed = pack(folder, sources, tmp_path / "a" / "x", options=options)
        pack(folder, sources, tmp_path / "b" / "x", options=options)
        assert resumed.num_resumed_shards == 2
        first = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
        assert first == {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}

    def test_other_formats_are_packed_as_they_are(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        (tmp_path / "in" / "a").mkdir(parents=True)
        (tmp_path / "in" / "a" / "1.png").write_bytes(photo(30, 20, format="PNG"))
        (tmp_path / "in" / "a" / "2.jpg").write_bytes(photo(30, 20, mode="CMYK"))
        pack_folder(tmp_path / "in", tmp_path / "x")
        dataset = IndexTFRDataset(tmp_path, "x.index")
        assert [(dataset[i][0].size, dataset[i][0].mode) for i in range(2)] == [((30, 20), "RGB")] * 2

    def test_short_side_shrinks_what_is_larger(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        (tmp_path / "in" / "a").mkdir(parents=True)
        (tmp_path / "in" / "a" / "1.jpg").write_bytes(photo(200, 100))
        (tmp_path / "in" / "a" / "2.jpg").write_bytes(photo(40, 30))
        pack_folder(tmp_path / "in", tmp_path / "x", rewriting=Rewriting(short_side=50))
        assert [IndexTFRDataset(tmp_path, "x.index")[i][0].size for i in range(2)] == [(100, 50), (40, 30)]

    def test_shuffle_changes_the_order_and_nothing_else(
        self, tmp_path: Path, photo_folder: Callable[..., Path]
    ) -> None:
        folder = photo_folder(12)
        pack_folder(folder, tmp_path / "a", shuffle_seed=5)
        pack_folder(folder, tmp_path / "b")
        first, second = IndexTFRDataset(tmp_path, "a.index"), IndexTFRDataset(tmp_path, "b.index")
        assert first.targets != second.targets
        assert sorted(first.targets) == sorted(second.targets)


class TestCoco:
    def test_boxes_and_classes_are_kept(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        (tmp_path / "a.jpg").write_bytes(photo(80, 60))
        annotations = {
            "images": [{"id": 7, "file_name": "a.jpg", "width": 80, "height": 60}],
            "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}],
            "annotations": [{"image_id": 7, "category_id": 18, "bbox": [8, 6, 40, 30], "iscrowd": 0}],
        }
        (tmp_path / "coco.json").write_text(json.dumps(annotations))
        sources, classes = sources_from_coco(tmp_path / "coco.json")
        assert classes == ("car", "dog")
        assert sources[0].features["image/object/bbox/xmax"] == [0.6]
        assert sources[0].features["image/object/class/label"] == [1]

    def test_a_file_that_is_no_coco_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "coco.json").write_text("[]")
        with pytest.raises(BadImageList, match=r"coco\.json"):
            sources_from_coco(tmp_path / "coco.json")


class TestCommandLine:
    def test_list_pack_check_info_unpack(
        self, tmp_path: Path, photo_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = photo_folder(8)
        assert main(["list", str(folder), str(tmp_path / "l"), "--labels", str(tmp_path / "m.pkl")]) == 0
        assert pickle.loads((tmp_path / "m.pkl").read_bytes()) == {"class_0": 0, "class_1": 1, "class_2": 2}
        arguments = [
            "pack",
            str(folder),
            str(tmp_path / "x"),
            "--list",
            str(tmp_path / "l"),
            "--labels",
            str(tmp_path / "m.pkl"),
        ]
        assert main([*arguments, "--workers", "2"]) == 0
        assert main(["check", str(tmp_path / "x.index"), "--decode"]) == 0
        assert main(["info", str(tmp_path / "x.index")]) == 0
        assert "num_images         8" in capsys.readouterr().out
        assert main(["unpack", str(tmp_path / "x.index"), str(tmp_path / "back")]) == 0
        assert len(list((tmp_path / "back").rglob("*.jpg"))) == 8
        assert describe(tmp_path / "x.index").num_classes == 3

    def test_names_follow_a_label_map_with_gaps(self, tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
        (tmp_path / "m.json").write_text('{"class_0": 4, "class_1": 0, "class_2": 2}')
        assert main(["pack", str(photo_folder(3)), str(tmp_path / "x"), "--labels", str(tmp_path / "m.json")]) == 0
        dataset = IndexTFRDataset(tmp_path, "x.index")
        assert [dataset.classes[label] for label in dataset.targets] == ["class_0", "class_1", "class_2"]
        assert describe(tmp_path / "x.index").num_classes == 3

    def test_a_label_map_of_another_list_is_refused(
        self, tmp_path: Path, photo_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = str(photo_folder(3))
        (tmp_path / "m.json").write_text('{"class_0": 1, "class_1": 0, "class_2": 2}')
        assert main(["list", folder, str(tmp_path / "l")]) == 0
        words = [
            "pack",
            folder,
            str(tmp_path / "x"),
            "--list",
            str(tmp_path / "l"),
            "--labels",
            str(tmp_path / "m.json"),
        ]
        assert main(words) == 2
        assert "class_0/000.jpg: expected label 1" in capsys.readouterr().err

    def test_check_finds_damage(self, packed: Callable[..., Path]) -> None:
        path = packed(4, shards=1)
        shard = path.with_suffix(".tfrecord")
        raw = bytearray(shard.read_bytes())
        raw[200] ^= 1
        shard.write_bytes(bytes(raw))
        assert [fault.position for fault in check(path)] == [0]
        assert main(["check", str(path)]) == 1

    def test_nothing_to_pack_is_an_error(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "empty" / "cat").mkdir(parents=True)
        (tmp_path / "list").write_text("")
        (tmp_path / "coco.json").write_text('{"images": [], "categories": []}')
        empty, packed = str(tmp_path / "empty"), str(tmp_path / "x")
        assert main(["pack", empty, packed]) == 2
        assert main(["list", empty, str(tmp_path / "l")]) == 2
        assert main(["pack", empty, packed, "--list", str(tmp_path / "list")]) == 2
        assert main(["pack", empty, packed, "--annotations", str(tmp_path / "coco.json")]) == 2
        assert capsys.readouterr().err.count("no images") == 4
        assert not (tmp_path / "x.index").exists()

    @pytest.mark.parametrize("broken", ["list", "skip"])
    def test_nothing_that_can_be_decoded_is_an_error(
        self, tmp_path: Path, photo_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str], broken: str
    ) -> None:
        folder = photo_folder(3)
        for path in folder.rglob("*.jpg"):
            path.write_bytes(b"nonsense")
        assert main(["pack", str(folder), str(tmp_path / "x"), "--broken", broken]) == 2
        assert "none of the 3 images can be decoded, first: class_0/000.jpg" in capsys.readouterr().err
        assert not (tmp_path / "x.index").exists()
        assert (tmp_path / "x.broken.txt").exists() == (broken == "list")

    def test_names_of_others_give_a_terminal_no_orders(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", "/no/\x1b]0;title\x07\x9b2J\u202e"]) == 2
        assert capsys.readouterr().err.isascii()

    def test_errors_are_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["info", "nowhere.index"]) == 2
        assert capsys.readouterr().err.count("\n") == 1

    def test_a_name_that_leads_out_of_the_target_is_refused(self, tmp_path: Path, photo: Callable[..., bytes]) -> None:
        (tmp_path / "evil.jpg").write_bytes(photo())
        (tmp_path / "in" / "a").mkdir(parents=True)
        source = sources_from_list([])
        assert source == []
        from danlu_accel.records.sources import Source

        pack(tmp_path / "in", [Source("../evil.jpg", 0)], tmp_path / "x")
        assert main(["unpack", str(tmp_path / "x.index"), str(tmp_path / "back")]) == 2


def test_without_the_core_everything_still_works(tmp_path: Path, photo_folder: Callable[..., Path]) -> None:
    folder = photo_folder(9)
    code = """
import sys, torch
from danlu_accel.records import LoaderOptions, RecordLoader, Recipe, native
from danlu_accel.records.cli import main
assert native.core is None
assert main(["pack", sys.argv[1], sys.argv[2]]) == 0
loader = RecordLoader(sys.argv[3], "x.index", Recipe(height=32, width=32), batch_size=4, options=LoaderOptions(seed=3))
assert "Pillow" in loader.explain() and loader.index.made_with["restart_markers"] is False
torch.save([(images.clone(), labels) for images, labels in loader], sys.argv[4])
"""
    arguments = [str(folder), str(tmp_path / "x"), str(tmp_path), str(tmp_path / "batches.pt")]
    environment = {**os.environ, "DANLU_RECORDS_NATIVE": "0"}
    subprocess.run([sys.executable, "-c", code, *arguments], env=environment, check=True, capture_output=True)
    import torch

    from danlu_accel.records import LoaderOptions, Recipe, RecordLoader

    slow = torch.load(tmp_path / "batches.pt")
    with RecordLoader(
        tmp_path, "x.index", Recipe(height=32, width=32), batch_size=4, options=LoaderOptions(seed=3)
    ) as loader:
        fast = [(images.clone(), labels) for images, labels in loader]
    assert [labels.tolist() for _, labels in slow] == [labels.tolist() for _, labels in fast]
    for (one, _), (other, _) in zip(slow, fast):
        assert np.abs(one.numpy() - other.numpy()).max() <= 1.01 / 255
