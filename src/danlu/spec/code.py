"""The source of a job's code, and its recorded commit."""

from __future__ import annotations

import re
from typing import Annotated, Optional

from pydantic import BaseModel, ConfigDict, Field, model_validator

from danlu.spec.fields import StorePathText, Text

MAX_DIFF_CHARS = 65_536
_TREE = re.compile(r"[0-9a-f]{64}")
_REPOSITORY = re.compile(r"(https?|ssh|git|file)://\S+|[\w.-]+@[\w.-]+:\S+")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@+-]{0,199}")


class Code(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Optional[str] = None
    """A local folder. The client uploads it and sends `tree` instead."""

    git: Optional[Annotated[Text, Field(max_length=300)]] = None
    """Address of a git repository. The client fetches it, uploads its files and sends `tree` instead. Beside `tree`:
    commit and branch of that folder, and whether files differed, as the client found them."""

    ref: Optional[str] = None
    """Branch, tag or commit of the repository. Default: its main branch."""

    store: Optional[StorePathText] = None
    """A folder in the store."""

    tree: Optional[str] = None
    """The digest of an uploaded folder."""

    diff: Optional[Annotated[Text, Field(max_length=MAX_DIFF_CHARS)]] = None
    """How the files of `tree` differed from that commit, as the client found it. Noted, not used."""

    @model_validator(mode="after")
    def _one_source(self) -> Code:
        names = ("path", "store", "tree") if self.tree is not None else ("path", "git", "store")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of path, git, store or tree, got {', '.join(given) or 'none'}")
        if self.tree is not None and not _TREE.fullmatch(self.tree):
            raise ValueError(f"tree: expected 64 hexadecimal digits, got {self.tree!r}")
        if given == ["git"] and not _REPOSITORY.fullmatch(self.git or ""):
            raise ValueError(f"git: expected an address such as https://example.com/team/train.git, got {self.git!r}")
        if self.ref is not None and (given != ["git"] or not _REF.fullmatch(self.ref)):
            expected = "a branch, tag or commit" if given == ["git"] else "git as well: it belongs to a repository"
            raise ValueError(f"ref: expected {expected}, got {self.ref[:200]!r}")
        return self

    @property
    def is_local(self) -> bool:
        """Whether the client must upload it before submission."""
        return self.path is not None or (self.git is not None and self.tree is None)
