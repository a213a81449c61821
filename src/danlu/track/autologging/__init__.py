"""`track.autolog()` tracks training with known libraries without further code; `track.watch(model)` logs histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Optional, Union

from danlu.track.autologging import boosting, frameworks, sklearn, torch
from danlu.track.autologging.torch import watch
from danlu.track.listen.patching import Patches
from danlu.track.listen.target import Target
from danlu.track.run import Run
from danlu.track.values import brief
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


def autolog(
    run: Optional[Run] = None, *, frameworks: Union[Sequence[str], str, None] = None, every: int = 10
) -> Patches:
    """Track what scikit-learn, PyTorch, XGBoost, LightGBM, Keras, Lightning and transformers do from here on.

    May be called before or after they are imported. Logs to `run`, by default the newest run of the script; without
    one, a run is started. `frameworks` selects some of them. With PyTorch, the loss is read every `every` steps of the
    optimizer. `undo()` of the result ends it.
    """
    patches, target = Patches(), Target(run)
    named = [frameworks] if isinstance(frameworks, str) else INSTALL if frameworks is None else frameworks
    for name in named:
        if isinstance(name, str) and name in INSTALL:
            INSTALL[name](patches, target)
        else:
            shown = brief(name)
            warn_once(f"autolog {shown}", f"autolog(): expected some of {', '.join(INSTALL)}, got {shown}")
    torch.set_interval(patches, every)
    patches.on_undo(target.finish)
    return patches


__all__ = ["autolog", "watch"]
