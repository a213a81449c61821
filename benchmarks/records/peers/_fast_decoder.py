"""The fastest decoder that the libraries allow: libjpeg-turbo through simplejpeg, and PyTorch's vectorised byte resize.

Does the same as training_transform, with torchvision's random draws, and without Pillow.
"""

from __future__ import annotations

from typing import Any

import simplejpeg
import torch
from _torchvision import MEAN, STD, transforms

_MEAN, _STD = (torch.tensor(values).reshape(3, 1, 1) for values in (MEAN, STD))


def training_sample(encoded: bytes) -> Any:
    """Return the normalised crop of an encoded JPEG."""
    pixels = torch.from_numpy(simplejpeg.decode_jpeg(encoded, fastdct=False, fastupsample=False)).permute(2, 0, 1)
    top, left, height, width = transforms.RandomResizedCrop.get_params(pixels, [0.08, 1.0], [3 / 4, 4 / 3])
    crop = pixels[None, :, top : top + height, left : left + width]
    image = torch.nn.functional.interpolate(crop, (224, 224), mode="bilinear", antialias=True)[0]
    if torch.rand(()) < 0.5:
        image = image.flip(-1)
    return (image.float() / 255 - _MEAN) / _STD
