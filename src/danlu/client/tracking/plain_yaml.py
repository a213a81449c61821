"""YAML of others: plain values only. An alias is refused, for a few lines of them stand for more than any memory."""

from __future__ import annotations

from typing import Any, Optional

import yaml


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: Optional[yaml.Node], index: Any) -> Optional[yaml.Node]:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias (*name), which is not read")
        return super().compose_node(parent, index)


def load_plain(data: bytes) -> Any:
    """What a YAML document says. Raise ValueError when it cannot be read, with the first line of the reason."""
    try:
        return yaml.load(data.decode("utf-8", "replace"), Loader=_Plain)
    except yaml.YAMLError as error:
        raise ValueError(str(error).splitlines()[0]) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
