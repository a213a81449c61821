"""IndexTFRDataset and RecordLoader."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from danlu_accel.records import (
    ColorJitter,
    Erasing,
    IndexTFRDataset,
    LoaderOptions,
    Mixing,
    RandAugment,
    Recipe,
    RecordLoader,
    UnknownTransform,
    native,
    pack,
    sources_from_coco,
    training_recipe,
)
from danlu_accel.records.boxes import Objects, follow
from danlu_accel.records.draws import Geometry
from danlu_accel.records.recipe import Crop

SMALL = Recipe(height=24, width=32, flip_probability=0.5)


def batches(loader: RecordLoader) -> list[tuple[torch.Tensor, list[int]]]:
    return [(images.clone(), labels.tolist()) for images, labels in loader]


def same(first: list[tuple[torch.Tensor, list[int]]], second: list[tuple[torch.Tensor, list[int]]]) -> bool:
    return len(first) == len(second) and all(torch.equal(a, c) and b == d for (a, b), (c, d) in zip(first, second))


class TestDataset:
    def test_without_transform_it_gives_pil_images(self, packed: Callable[..., Path]) -> None:
        path = packed(6)
        dataset = IndexTFRDataset(path.parent, path.name)
        assert len(dataset) == 6
        assert (dataset[0][0].mode, dataset[0][1]) == ("RGB", 0)
        assert dataset.targets == [0, 0, 1, 1, 2, 2]
        assert dataset.classes == ("class_0", "class_1", "class_2")

    def test_any_callable_on_pil_images(self, packed: Callable[..., Path]) -> None:
        path = packed(3)
        dataset = IndexTFRDataset(str(path.parent), str(path), lambda image: image.size)
        assert dataset[0][0] == (64, 48)
        assert "no torchvision Compose" in dataset.explain()

    def test_data_loader_workers_read_it(self, packed: Callable[..., Path]) -> None:
        path = packed(8)
        dataset = IndexTFRDataset(path.parent, path.name, SMALL)  # type: ignore[arg-type]
        found = [labels for _, labels in DataLoader(dataset, 3, num_workers=2)]  # type: ignore[arg-type]
        assert torch.cat(found).tolist() == dataset.targets

    def test_a_recipe_follows_torchs_seed(self, packed: Callable[..., Path]) -> None:
        path = packed(3)
        dataset = IndexTFRDataset(path.parent, path.name, SMALL)  # type: ignore[arg-type]
        torch.manual_seed(1)
        first = dataset[0][0]
        torch.manual_seed(1)
        assert torch.equal(dataset[0][0], first)
        assert not torch.equal(dataset[0][0], first)

    def test_shards_of_others_are_indexed_on_the_fly(self, packed: Callable[..., Path]) -> None:
        path = packed(6)
        path.unlink()
        dataset = IndexTFRDataset(path.parent, "train-*")
        assert dataset.targets == [0, 0, 1, 1, 2, 2]


class TestRecordLoader:
    def test_shapes_and_types(self, packed: Callable[..., Path]) -> None:
        path = packed(7)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=3) as loader:
            found = [(tuple(images.shape), images.dtype, labels.dtype) for images, labels in loader]
        assert found == [((n, 3, 24, 32), torch.float32, torch.int64) for n in (3, 3, 1)]

    def test_channels_last_is_only_another_order_in_memory(self, packed: Callable[..., Path]) -> None:
        path = packed(4)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=4) as plain:
            expected = next(iter(plain))[0].clone()
        with RecordLoader(
            path.parent, path.name, SMALL, batch_size=4, options=LoaderOptions(channels_last=True)
        ) as loader:
            images = next(iter(loader))[0]
        assert images.is_contiguous(memory_format=torch.channels_last)
        assert torch.allclose(images, expected, atol=1e-6)

    def test_bytes_normalised_later_are_the_same_images(self, packed: Callable[..., Path]) -> None:
        path = packed()
        recipe = training_recipe(32)
        with (
            RecordLoader(path.parent, path.name, recipe, batch_size=4) as floats,
            RecordLoader(path.parent, path.name, replace(recipe, as_bytes=True), batch_size=4) as raw,
        ):
            for (expected, _), (images, _) in zip(floats, raw):
                assert images.dtype == torch.uint8
                torch.testing.assert_close(recipe.normalised(images), expected, atol=2e-6, rtol=0)
                assert recipe.normalised(expected) is expected

    def test_threads_and_readers_do_not_change_anything(self, packed: Callable[..., Path]) -> None:
        path = packed(20)
        results = []
        for threads, read_ahead, prefetch in [(1, 0, 1), (4, 0, 3), (2, 5, 2)]:
            with RecordLoader(
                path.parent,
                path.name,
                SMALL,
                batch_size=6,
                options=LoaderOptions(threads=threads, read_ahead=read_ahead, prefetch=prefetch),
            ) as loader:
                results.append(batches(loader))
        assert same(results[0], results[1])
        assert same(results[0], results[2])

    def test_epochs_differ_and_come_back(self, packed: Callable[..., Path]) -> None:
        path = packed(12)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=12) as loader:
            first, second = batches(loader), batches(loader)
            loader.set_epoch(0)
            again = batches(loader)
        assert not same(first, second)
        assert same(first, again)

    @pytest.mark.parametrize("stop", [0, 1, 3])
    def test_resuming_gives_exactly_the_rest(self, packed: Callable[..., Path], stop: int) -> None:
        path = packed(20)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=4, options=LoaderOptions(seed=9)) as loader:
            loader.set_epoch(3)
            whole = batches(loader)
            loader.set_epoch(3)
            iterator = iter(loader)
            for _ in range(stop):
                next(iterator)
            state = json.loads(json.dumps(loader.state_dict()))
        with RecordLoader(path.parent, path.name, SMALL, batch_size=4) as other:
            other.load_state_dict(state)
            assert same(batches(other), whole[stop:])

    def test_ranks_share_the_epoch_and_resume_with_another_number(self, packed: Callable[..., Path]) -> None:
        path = packed(20)

        def walk(rank: int, world: int, state: dict[str, Any] | None, steps: int) -> tuple[list[float], dict[str, Any]]:
            with RecordLoader(
                path.parent, path.name, SMALL, batch_size=2, options=LoaderOptions(rank=rank, world_size=world)
            ) as loader:
                if state:
                    loader.load_state_dict(state)
                sums = []
                for _, (images, _labels) in zip(range(steps), loader):
                    sums += images.sum((1, 2, 3)).tolist()
                return sums, loader.state_dict()

        everything, _ = walk(0, 1, None, 10)
        parts = [walk(rank, 3, None, 2) for rank in range(3)]
        rest = [walk(rank, 2, parts[0][1], 2) for rank in range(2)]
        together = [value for sums, _ in parts + rest for value in sums]
        assert sorted(together) == sorted(everything)

    def test_a_batch_that_is_kept_is_never_overwritten(self, packed: Callable[..., Path]) -> None:
        path = packed(24)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=4) as loader:
            kept = [(images, labels.tolist()) for images, labels in loader]
            loader.set_epoch(0)
            assert same(kept, batches(loader))

    def test_buffers_are_used_again(self, packed: Callable[..., Path]) -> None:
        path = packed(24)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=2, options=LoaderOptions(prefetch=2)) as loader:
            for images, _ in loader:  # noqa: B007
                pass
            assert loader.statistics().buffers <= 4

    def test_stopping_in_the_middle_is_quiet(self, packed: Callable[..., Path]) -> None:
        path = packed(24)
        for _ in range(20):
            with RecordLoader(
                path.parent, path.name, training_recipe(), batch_size=4, options=LoaderOptions(prefetch=4)
            ) as loader:
                next(iter(loader))

    def test_an_unknown_transform_runs_in_python_and_says_so(self, packed: Callable[..., Path]) -> None:
        path = packed(4)

        def transform(image: Any) -> torch.Tensor:
            return torch.tensor(image.size)

        with RecordLoader(path.parent, path.name, transform, batch_size=4, shuffle=False) as loader:
            images, _ = next(iter(loader))
            assert images.tolist() == [list(IndexTFRDataset(path.parent, path.name)[i][0].size) for i in range(4)]
            assert "Python transform" in loader.explain()

    def test_other_formats_go_through_pillow_and_are_counted(self, packed: Callable[..., Path]) -> None:
        path = packed(4, format="PNG")
        with RecordLoader(path.parent, path.name, SMALL, batch_size=4) as loader:
            assert next(iter(loader))[0].isfinite().all()
            assert loader.statistics().images_by_pillow == 4

    def test_statistics_and_explanation(self, packed: Callable[..., Path]) -> None:
        path = packed(6)
        with RecordLoader(path.parent, path.name, SMALL, batch_size=6) as loader:
            list(loader)
            statistics = loader.statistics()
            assert (statistics.batches, statistics.images) == (1, 6)
            if native.core is not None:
                assert (statistics.core["images"], statistics.core["sliced"]) == (6, 6)
                assert "with restart markers" in loader.explain()

    def test_a_batch_of_nothing_is_refused(self, packed: Callable[..., Path]) -> None:
        path = packed(2)
        with pytest.raises(ValueError, match="batch_size: expected at least 1, got 0"):
            RecordLoader(path.parent, path.name, batch_size=0)

    @pytest.mark.parametrize("name", ["prefetch", "threads", "world_size"])
    def test_an_option_of_nothing_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got 0"):
            LoaderOptions(**{name: 0})  # type: ignore[arg-type]

    def test_a_rank_outside_of_the_world_is_refused(self) -> None:
        with pytest.raises(ValueError, match="rank: expected 0 to 1 for world_size 2, got 2"):
            LoaderOptions(rank=2, world_size=2)


class TestBoxes:
    def geometry(self, **changed: int) -> Geometry:
        fields = {
            "x": 10,
            "y": 20,
            "width": 40,
            "height": 40,
            "virtual_width": 80,
            "virtual_height": 80,
            "window_x": 0,
            "window_y": 0,
            "flip": 0,
        }
        return Geometry(**{**fields, "image_width": 100, "image_height": 90, **changed})

    def objects(self, *boxes: tuple[float, float, float, float]) -> Objects:
        count = len(boxes)
        return Objects(np.array(boxes, np.float32).reshape(-1, 4), np.arange(count), np.zeros(count, np.bool_))

    def test_they_move_grow_and_are_clipped(self) -> None:
        found = follow(self.objects((20, 30, 30, 40), (0, 0, 15, 25), (60, 70, 80, 80)), self.geometry(), 80, 80)
        assert found.boxes.tolist() == [[20, 20, 40, 40], [0, 0, 10, 10]]
        assert found.labels.tolist() == [0, 1]

    def test_mirroring(self) -> None:
        found = follow(self.objects((20, 30, 30, 40)), self.geometry(flip=1), 80, 80)
        assert found.boxes.tolist() == [[40, 20, 60, 40]]

    def test_min_visible_drops_what_is_mostly_cut(self) -> None:
        objects = self.objects((0, 0, 15, 25), (20, 30, 30, 40))
        assert follow(objects, self.geometry(), 80, 80, 0.5).labels.tolist() == [1]

    def test_the_loader_gives_boxes_around_the_same_thing(self, tmp_path: Path) -> None:
        """A bright square on black: wherever the crop goes, the box must frame the bright pixels."""
        from PIL import Image

        picture = np.zeros((120, 160, 3), np.uint8)
        picture[40:80, 60:120] = 255
        Image.fromarray(picture).save(tmp_path / "a.png")
        coco = {
            "images": [{"id": 1, "file_name": "a.png", "width": 160, "height": 120}],
            "categories": [{"id": 1, "name": "square"}],
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [60, 40, 60, 40]}],
        }
        (tmp_path / "coco.json").write_text(json.dumps(coco))
        sources, classes = sources_from_coco(tmp_path / "coco.json")
        pack(tmp_path, sources, tmp_path / "x", classes=classes, kind="coco")
        recipe = Recipe(Crop.RANDOM_RESIZED, 64, 64, scale=(0.5, 1.0), flip_probability=0.5)
        with RecordLoader(tmp_path, "x.index", recipe, batch_size=1) as loader:
            for epoch in range(25):
                loader.set_epoch(epoch)
                images, objects = next(iter(loader))
                rows, columns = np.nonzero(images[0, 0].numpy() > 0.5)
                x0, y0, x1, y1 = objects[0].boxes[0]
                assert abs(x0 - columns.min()) <= 1.1
                assert abs(y0 - rows.min()) <= 1.1
                assert abs(x1 - columns.max() - 1) <= 1.1
                assert abs(y1 - rows.max() - 1) <= 1.1


@pytest.fixture
def coco(tmp_path: Path, photo: Callable[..., bytes]) -> Path:
    """Three pictures packed with boxes, the last one without any; the path of the .index."""
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 80, "height": 60} for n in range(3)]
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(photo(80, 60, seed=number))
    boxes = [{"image_id": n, "category_id": 5, "bbox": [8, 6, 40 + n, 30]} for n in range(2)]
    annotations = {"images": images, "categories": [{"id": 5, "name": "cat"}], "annotations": boxes}
    (tmp_path / "coco.json").write_text(json.dumps(annotations))
    sources, classes = sources_from_coco(tmp_path / "coco.json")
    return pack(tmp_path, sources, tmp_path / "x", classes=classes, kind="coco").index_path


def own_transform(image: Any) -> torch.Tensor:
    return torch.tensor(image.size)


class TestCoco:
    """Data with boxes never comes with a class number of -1."""

    def test_the_loader_refuses_a_transform_that_boxes_cannot_follow(self, coco: Path) -> None:
        with pytest.raises(UnknownTransform, match=r"expected a Recipe or a Compose .*own_transform"):
            RecordLoader(coco.parent, coco.name, own_transform)

    def test_the_data_set_refuses_it_too(self, coco: Path) -> None:
        with pytest.raises(UnknownTransform, match="own_transform"):
            IndexTFRDataset(coco.parent, coco.name, own_transform)

    def test_both_refuse_what_moves_the_pixels_in_a_box(self, coco: Path) -> None:
        recipe = Recipe(augment=(RandAugment(),))
        for kind in (RecordLoader, IndexTFRDataset):
            with pytest.raises(UnknownTransform, match="do not follow RandAugment and TrivialAugment"):
                kind(coco.parent, coco.name, recipe)  # type: ignore[arg-type]
        with pytest.raises(UnknownTransform, match="mixing: expected a data set with a class per image"):
            RecordLoader(coco.parent, coco.name, options=LoaderOptions(mixing=Mixing(2, mixup_alpha=1.0)))

    def test_boxes_stay_where_colours_change(self, coco: Path) -> None:
        recipe = Recipe(Crop.WHOLE, 60, 80, augment=(ColorJitter(hue=(0.1, 0.2)),), erasing=Erasing(1.0))
        with RecordLoader(coco.parent, coco.name, recipe, shuffle=False, batch_size=3) as loader:
            _, objects = next(iter(loader))
        assert np.allclose(objects[1].boxes, [[8, 6, 49, 36]], atol=1e-3)

    @pytest.mark.parametrize("file", ["x.index", "x.tfrecord"])
    def test_without_a_transform_it_gives_images_and_their_boxes(self, coco: Path, file: str) -> None:
        dataset = IndexTFRDataset(coco.parent, file)
        samples = [dataset[position] for position in range(3)]
        assert [picture.size for picture, _ in samples] == [(80, 60)] * 3
        assert np.allclose(samples[1][1].boxes, [[8, 6, 49, 36]], atol=1e-3)
        assert [objects.labels.tolist() for _, objects in samples] == [[0], [0], []]
        assert not hasattr(dataset, "targets")

    def test_boxes_of_the_data_set_follow_a_recipe(self, coco: Path) -> None:
        dataset = IndexTFRDataset(coco.parent, coco.name, Recipe(Crop.WHOLE, 30, 160))  # type: ignore[arg-type]
        assert np.allclose(dataset[0][1].boxes, [[16, 3, 96, 18]], atol=1e-3)

    def test_data_loaders_give_images_and_a_list_of_boxes(self, coco: Path) -> None:
        dataset = IndexTFRDataset(coco.parent, coco.name, Recipe(Crop.WHOLE, 30, 160))  # type: ignore[arg-type]
        for workers in (0, 1):
            images, objects = next(iter(DataLoader(dataset, 3, num_workers=workers)))  # type: ignore[arg-type]
            assert images.shape == (3, 3, 30, 160)
            assert [len(each.boxes) for each in objects] == [1, 1, 0]

    def test_shards_without_an_index_come_with_boxes(self, coco: Path) -> None:
        with RecordLoader(coco.parent, "x.tfrecord", SMALL, batch_size=3, shuffle=False) as loader:
            _, objects = next(iter(loader))
            assert [each.image_id for each in objects] == ["0", "1", "2"]


class TestCollation:
    """DataLoader takes whole batches from IndexTFRDataset without copying, and nobody can tell."""

    def test_batches_equal_single_samples(self, packed: Callable[..., Path]) -> None:
        path = packed(7)
        recipe = Recipe(Crop.WHOLE, 20, 24)
        dataset = IndexTFRDataset(path.parent, path.name, recipe)  # type: ignore[arg-type]
        expected = torch.stack([dataset[i][0] for i in range(7)])
        for workers in (0, 2):
            found = list(DataLoader(dataset, 4, num_workers=workers))  # type: ignore[arg-type]
            assert torch.equal(torch.cat([images for images, _ in found]), expected)
            assert torch.cat([labels for _, labels in found]).tolist() == dataset.targets

    def test_a_collate_function_of_the_user_sees_tuples(self, packed: Callable[..., Path]) -> None:
        path = packed(4)
        dataset = IndexTFRDataset(path.parent, path.name, SMALL)  # type: ignore[arg-type]
        loader = DataLoader(dataset, 4, num_workers=1, collate_fn=lambda rows: rows)  # type: ignore[arg-type]
        rows = next(iter(loader))
        assert [(image.shape, label) for image, label in rows] == [((3, 24, 32), label) for label in dataset.targets]

    def test_rows_picked_among_a_batch_are_collated_as_usual(self, packed: Callable[..., Path]) -> None:
        from torch.utils.data import default_collate

        path = packed(6)
        dataset = IndexTFRDataset(path.parent, path.name, SMALL)  # type: ignore[arg-type]
        rows = dataset.__getitems__([0, 2, 4])
        images, labels = default_collate(rows[::-1])
        assert torch.equal(images, torch.stack([row[0] for row in rows[::-1]]))
        assert labels.tolist() == [rows[2][1], rows[1][1], rows[0][1]]
