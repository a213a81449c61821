"""Load untrusted YAML with plain values only. Aliases are rejected: a few lines of them can expand to any size."""

from __future__ import annotations

from typing import Any, Optional

import yaml


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: Optional[yaml.Node], index: Any) -> Optional[yaml.Node]:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias (*name), which is not read")
        return super().compose_node(parent, index)


def load_plain(data: bytes) -> Any:
    """Return the content of a YAML document. Raise ValueError with the first line of the reason when it cannot be
    read."""
    try:
        return yaml.load(data.decode("utf-8", "replace"), Loader=_Plain)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
