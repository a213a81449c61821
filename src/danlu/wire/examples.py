"""Examples on the wire."""

from __future__ import annotations

from typing import Any, Optional

from danlu.spec.messages.catalogue import Message
from danlu.spec.states import Word
from danlu.wire.base import Answer


class Words(Answer):
    """A text in both languages."""

    en: str
    zh: str


class NeedKind(Word):
    """What sort of thing an example needs."""

    DEVICES = "devices"
    SOFTWARE = "software"
    IMAGES = "images"


class NeedOut(Answer):
    """Something that an example needs, and whether it is here."""

    kind: NeedKind
    name: str
    """Such as `npu:910b:8`, `torch` or the name of an image."""

    is_met: Optional[bool] = None
    """Whether a node of this cluster has it; None where the nodes do not say."""

    why: str = ""
    """What is missing, when it is."""

    said: Optional[Message] = None
    """The same with its code and parameters."""


class ExampleRow(Answer):
    name: str
    title: Words
    about: Words
    """What it shows."""

    tags: list[str]
    seconds: int
    """About how long it runs."""

    needs: list[NeedOut]
    is_job: bool
    """Whether it can be submitted; the others run on the user's own machine."""


class ExampleFile(Answer):
    path: str
    size: int
    text: str
    is_executable: bool = False
    is_code: bool = False
    """Whether it belongs to the code folder of the job."""


class ExampleOut(ExampleRow):
    before: Optional[Words] = None
    """What to do before it runs."""

    job: Optional[dict[str, Any]] = None
    """The job file's values, without the code."""

    code_folder: Optional[str] = None
    """The job's code folder among the files: `code`, or `.` for all of them."""

    files: list[ExampleFile]
