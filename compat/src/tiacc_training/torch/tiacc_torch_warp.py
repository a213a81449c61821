"""The old names of Danlu's records and precision policies, imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu_accel.records import IndexTFRDataset as _IndexTFRDataset

__all__ = ["IndexTFRDataset", "MixedPrecision_TrainingPolicy"]  # noqa: F822


def _index_tfr_dataset() -> type[_IndexTFRDataset]:
    from danlu_accel.records import IndexTFRDataset as Records

    class IndexTFRDataset(Records):
        """Danlu's data set with the old argument names; the misspelled `tfrecored_dir` is the old guide's."""

        def __init__(
            self,
            tfrecored_dir: str | None = None,
            tfrecord_file: str | None = None,
            transform: Any = None,
            *,
            tfrecord_dir: str | None = None,
        ) -> None:
            folder = tfrecored_dir if tfrecored_dir is not None else tfrecord_dir
            if folder is None or tfrecord_file is None:
                raise TypeError("IndexTFRDataset needs tfrecored_dir and tfrecord_file")
            super().__init__(folder, tfrecord_file, transform)

    IndexTFRDataset.__module__ = __name__
    IndexTFRDataset.__qualname__ = "IndexTFRDataset"
    return IndexTFRDataset


def __getattr__(name: str) -> Any:
    if name == "IndexTFRDataset":
        found = globals()["IndexTFRDataset"] = _index_tfr_dataset()  # cached, so that pickling finds the same class
        return found
    if name == "MixedPrecision_TrainingPolicy":
        from tiacc_training.torch import adaptfp16

        return adaptfp16.MixedPrecision_TrainingPolicy
    raise AttributeError(f"tiacc_torch_warp has no {name!r}")
