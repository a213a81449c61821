"""What becomes of a sample on its way to a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from danlu_accel.records.recipe import Recipe

Sample = dict[str, Any]
"""Field -> value, besides __key__, its name, and __seed__, a number for random draws."""
Decoder = Union[Recipe, Callable[[bytes], Any]]


@dataclass(frozen=True)
class SampleRecipe:
    """Which fields are read, and how they are decoded and joined to a batch."""

    fields: Sequence[str] | None = None
    """Only these are read, and every sample must have them; None: whatever a sample has."""

    decoders: Mapping[str, Decoder] = field(default_factory=dict)
    """By field, or by what stands behind its last dot. A Recipe makes images in the compiled core; a callable gets
    bytes. Others are decoded by their name, see decoding.py."""

    transform: Callable[[Sample], Any] | None = None
    """Gets the decoded sample; what it returns stands for the sample."""

    collate: Callable[[list[Any]], Any] | None = None
    """Makes a batch of a list of samples; None: per field a tensor where values allow it, else a list."""

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
        """Return what the user wants for a field, if anything."""
        return self.decoders.get(name) or self.decoders.get(name.rpartition(".")[2])
