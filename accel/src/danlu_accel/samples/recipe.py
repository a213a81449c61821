"""How a sample is decoded, transformed and joined into a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from danlu_accel.records.recipe import Recipe

Sample = dict[str, Any]
"""Values by field, plus `__key__`, the name of the sample, and `__seed__`, a number for random draws."""
Decoder = Union[Recipe, Callable[[bytes], Any]]


@dataclass(frozen=True)
class SampleRecipe:
    """Which fields are read, and how they are decoded and joined into a batch."""

    fields: Sequence[str] | None = None
    """Read only these; every sample must have them. None: all fields of each sample."""

    decoders: Mapping[str, Decoder] = field(default_factory=dict)
    """By field, or by suffix after the last dot. A Recipe makes images in the compiled core; a callable gets bytes.
    Other fields are decoded by their name, see decoding.py."""

    transform: Callable[[Sample], Any] | None = None
    """Gets the decoded sample; its result replaces the sample."""

    collate: Callable[[list[Any]], Any] | None = None
    """Makes a batch from a list of samples; None: per field a tensor if the values allow it, else a list."""

    def __post_init__(self) -> None:
        if isinstance(self.fields, str):
            raise ValueError(f"fields: expected names in a list, got the text {self.fields!r}")
        if self.fields is not None:
            object.__setattr__(self, "fields", tuple(name.lower() for name in self.fields))
            if not self.fields:
                raise ValueError("fields: expected at least one, or None for all, got none")
        object.__setattr__(self, "decoders", {name.lower(): each for name, each in self.decoders.items()})
        for name, each in self.decoders.items():
            if not isinstance(each, Recipe) and not callable(each):
                raise ValueError(f"decoders[{name!r}]: expected a Recipe or a callable on bytes, got {each!r}")

    def decoder_of(self, name: str) -> Decoder | None:
        """Return the user's decoder of a field, if any."""
        return self.decoders.get(name) or self.decoders.get(name.rpartition(".")[2])
