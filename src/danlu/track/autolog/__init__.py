"""`track.autolog()`: training with a known library is tracked without a line in between; `track.watch(model)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Optional

from danlu.track.autolog import boosting, frameworks, sklearn, torch
from danlu.track.autolog.torch import watch
from danlu.track.listen.patching import Patches
from danlu.track.listen.target import Target
from danlu.track.run import Run
from danlu.track.warn import warn_once

INSTALL: dict[str, Callable[[Patches, Target], None]] = {
    "sklearn": sklearn.install,
    "torch": torch.install,
    "xgboost": boosting.install_xgboost,
    "lightgbm": boosting.install_lightgbm,
    "keras": frameworks.install_keras,
    "lightning": frameworks.install_lightning,
    "transformers": frameworks.install_transformers,
}


def autolog(run: Optional[Run] = None, *, frameworks: Optional[Sequence[str]] = None, every: int = 10) -> Patches:
    """Track what scikit-learn, PyTorch, XGBoost, LightGBM, Keras, Lightning and transformers do from here on.

    May be called before they are imported or after. Without `run` it goes to the newest run of the script; where there
    is none, one is begun. `frameworks` names some of them; `every` is after how many steps of an optimizer of PyTorch
    the loss is read. The answer's `undo()` ends it.
    """
    patches, target = Patches(), Target(run)
    for name in INSTALL if frameworks is None else frameworks:
        if name in INSTALL:
            INSTALL[name](patches, target)
        else:
            warn_once(f"autolog {name}", f"autolog(): expected some of {', '.join(INSTALL)}, got {name!r:.80}")
    torch.set_interval(patches, every)
    patches.on_undo(target.finish)
    return patches


__all__ = ["autolog", "watch"]
