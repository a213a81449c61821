"""A transformer that learns which word of a synthetic sentence is the most frequent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from danlu.bench.inside.measured import Measured
from danlu.bench.inside.place import Place
from danlu.bench.inside.work.training import SEED, train

if TYPE_CHECKING:
    import torch

WORDS = 8


def work(place: Place, parameters: dict[str, Any]) -> Measured:
    import torch

    torch.manual_seed(SEED)
    length = int(parameters["length"])

    def draw(random: torch.Generator, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        classes = torch.randint(WORDS, (count,), generator=random)
        words = torch.randint(WORDS, (count, length), generator=random)
        kept = torch.rand(count, length, generator=random) < 0.5
        return torch.where(kept, words, classes[:, None]), classes

    return train(_network(parameters, length), draw, place=place, parameters=parameters)


def _network(parameters: dict[str, Any], length: int) -> torch.nn.Module:
    import torch
    from torch import nn

    width, heads, layers = (int(parameters[name]) for name in ("width", "heads", "layers"))

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, width)
            self.places = nn.Parameter(torch.zeros(length, width))
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
            self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, WORDS)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            found = self.layers(self.words(words) + self.places).mean(dim=1)
            classes: torch.Tensor = self.head(found)
            return classes

    return Network()
