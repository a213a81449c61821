"""The old guide's three steps, word for word: list, pack, train."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader

from tiacc_training.tools import general_image_list, img2tfrecord
from tiacc_training.torch import tiacc_torch_warp


@pytest.fixture
def val_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        folder = tmp_path / "val_demo" / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        pixels = np.full((40 + number, 50, 3), 40 * number, np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.jpg")
    return tmp_path


def run_tool(module: object, *arguments: str) -> str:
    """As the guide runs it: the file itself, with python3."""
    done = subprocess.run(
        [sys.executable, str(module.__file__), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PACK_LIST = ["--img_dir", "val_demo", "--img_list", "list", "--tfrecords_name", "x", "--dataset_type", "ImageFold"]


class TestTheGuide:
    def test_list_pack_and_read(self, val_demo: Path) -> None:
        run_tool(general_image_list, "--img_dir", "val_demo/", "--img_list", "val_list")
        assert (val_demo / "val_list").read_text().splitlines()[0] == "cat/1.jpg 0"
        assert pickle.loads((val_demo / "label_str2int.pkl").read_bytes()) == {"cat": 0, "dog": 1}
        arguments = ["--img_dir", "val_demo", "--img_list", "val_list", "--tfrecords_name", "val_demo"]
        run_tool(img2tfrecord, *arguments, "--dataset_type", "ImageFold")
        dataset = tiacc_torch_warp.IndexTFRDataset("./", "./val_demo.index", lambda image: np.asarray(image).mean())
        assert len(dataset) == 6
        assert dataset.classes == ("cat", "dog")
        found = [(round(float(mean)), int(label)) for mean, label in DataLoader(dataset, None, num_workers=2)]
        assert found == [(40, 0), (120, 0), (200, 0), (0, 1), (80, 1), (160, 1)]

    def test_a_given_label_map_is_used(self, val_demo: Path) -> None:
        (val_demo / "map.pkl").write_bytes(pickle.dumps({"cat": 7, "dog": 3}))
        run_tool(general_image_list, "--img_dir", "val_demo", "--img_list", "list", "--label_str2int", "map.pkl")
        assert "cat/1.jpg 7" in (val_demo / "list").read_text()

    @pytest.mark.parametrize("older", [{"cow": 0, "pig": 1}, {"dog": 0, "cat": 1}, {"cat": 7}])
    def test_an_older_label_map_beside_the_list_names_nothing(self, val_demo: Path, older: dict[str, int]) -> None:
        (val_demo / "label_str2int.pkl").write_bytes(pickle.dumps(older))
        (val_demo / "map.pkl").write_bytes(pickle.dumps({"cat": 3, "dog": 1}))
        run_tool(general_image_list, "--img_dir", "val_demo", "--img_list", "list", "--label_str2int", "map.pkl")
        run_tool(img2tfrecord, *PACK_LIST)
        dataset = tiacc_torch_warp.IndexTFRDataset(".", "x.index")
        assert [dataset.classes[label] for label in dataset.targets] == ["cat"] * 3 + ["dog"] * 3

    def test_a_label_map_that_agrees_names_classes_that_have_no_image(self, val_demo: Path) -> None:
        (val_demo / "label_str2int.pkl").write_bytes(pickle.dumps({"cat": 0, "cow": 1, "dog": 2}))
        (val_demo / "list").write_text("cat/1.jpg 0\ndog/0.jpg 2\n")
        run_tool(img2tfrecord, *PACK_LIST)
        assert tiacc_torch_warp.IndexTFRDataset(".", "x.index").classes == ("cat", "cow", "dog")

    def test_workers_and_coco(self, val_demo: Path) -> None:
        (val_demo / "coco.json").write_text(
            '{"images": [{"id": 1, "file_name": "cat/1.jpg", "width": 50, "height": 41}], '
            '"categories": [{"id": 1, "name": "cat"}], '
            '"annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]}'
        )
        arguments = [
            "--img_dir",
            "val_demo",
            "--img_list",
            "coco.json",
            "--tfrecords_name",
            "out/coco",
            "--workers",
            "2",
        ]
        run_tool(img2tfrecord, *arguments, "--dataset_type", "coco")
        assert (val_demo / "out" / "coco.index").is_file()

    @pytest.mark.parametrize("where", ["beside", "given", "whole"])
    def test_coco_takes_the_list_of_the_first_step_and_gives_boxes(self, val_demo: Path, where: str) -> None:
        folder = val_demo / "coco" / "val2017"
        folder.mkdir(parents=True)
        for number in range(3):
            Image.fromarray(np.full((40, 50, 3), 80 * number, np.uint8)).save(folder / f"{number}.jpg")
        about = {
            "images": [{"id": number, "file_name": f"{number}.jpg", "width": 50, "height": 40} for number in range(3)],
            "categories": [{"id": 7, "name": "cat"}, {"id": 9, "name": "dog"}],
            "annotations": [{"image_id": 2, "category_id": 9, "bbox": [1, 2, 3, 4]}],
        }
        place = val_demo / ("mine.json" if where == "given" else "coco/annotations/instances_val2017.json")
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(about))
        img_dir = "coco" if where == "whole" else "coco/val2017"
        run_tool(general_image_list, "--img_dir", img_dir, "--img_list", "list")
        more = ["--annotations", "mine.json"] if where == "given" else []
        coco = ["--img_dir", img_dir, "--img_list", "list", "--tfrecords_name", "c", "--dataset_type", "coco", *more]
        run_tool(img2tfrecord, *coco)
        picture, objects = tiacc_torch_warp.IndexTFRDataset(".", "c.index")[2]
        assert (picture.size, objects.boxes.tolist(), objects.labels.tolist()) == ((50, 40), [[1, 2, 4, 6]], [1])
        if where != "whole":
            assert (val_demo / "list").read_text().splitlines()[0] == "0.jpg -1"
            assert img2tfrecord.main([*coco[:6], "--dataset_type", "ImageFold"]) == 2

    def test_tools_run_from_a_folder_that_holds_a_link(self, val_demo: Path) -> None:
        (val_demo / "tiacc_training").symlink_to(Path(general_image_list.__file__).parents[1])
        words = ["tiacc_training/tools/general_image_list.py", "--img_dir", "val_demo/", "--img_list", "val_list"]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "6 images of 2 classes listed in val_list\n"), done.stderr

    @pytest.mark.usefixtures("val_demo")
    def test_torchvisions_augmentations_are_recognised(self) -> None:
        """By the class that they are; torchvision itself need not be here."""

        def made(name: str, **fields: object) -> object:
            return type(name, (), {"__module__": "torchvision.transforms.transforms", **fields})()

        run_tool(general_image_list, "--img_dir", "val_demo", "--img_list", "list")
        run_tool(img2tfrecord, *PACK_LIST)
        bilinear, ranges = SimpleNamespace(value="bilinear"), (0.6, 1.4)
        crop = made("RandomResizedCrop", size=24, scale=(0.5, 1.0), ratio=(0.7, 1.4), interpolation=bilinear)
        jitter = made("ColorJitter", brightness=ranges, contrast=None, saturation=ranges, hue=None)
        trivial = made("TrivialAugmentWide", num_magnitude_bins=31, interpolation=bilinear, fill=None)
        erasing = made("RandomErasing", p=0.5, scale=(0.1, 0.2), ratio=(0.5, 2.0), value=0)
        steps = [crop, jitter, trivial, made("ToTensor"), erasing]
        dataset = tiacc_torch_warp.IndexTFRDataset(".", "x.index", made("Compose", transforms=steps))
        assert "TrivialAugment" in dataset.explain()
        assert [tuple(image.shape) for image, _ in DataLoader(dataset, 3)] == [(3, 3, 24, 24)] * 2

    @pytest.mark.usefixtures("val_demo")
    def test_the_old_spelling_is_a_keyword(self) -> None:
        assert general_image_list.main(["--img_dir", "val_demo", "--img_list", "l"]) == 0
        arguments = ["--img_dir", "val_demo", "--img_list", "l", "--tfrecords_name", "x", "--dataset_type", "ImageFold"]
        assert img2tfrecord.main(arguments) == 0
        dataset = tiacc_torch_warp.IndexTFRDataset(tfrecored_dir=".", tfrecord_file="x.index")
        assert len(dataset) == 6

    @pytest.mark.usefixtures("val_demo")
    def test_an_empty_list_is_an_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("l").write_text("")
        arguments = ["--img_dir", "val_demo", "--img_list", "l", "--tfrecords_name", "x", "--dataset_type", "ImageFold"]
        assert img2tfrecord.main(arguments) == 2
        assert "no images" in capsys.readouterr().err

    def test_a_missing_folder_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert general_image_list.main(["--img_dir", "nowhere", "--img_list", "l"]) == 2
        assert "nowhere" in capsys.readouterr().err
