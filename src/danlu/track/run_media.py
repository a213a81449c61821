"""What a run writes down besides numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Optional

from danlu.track import media
from danlu.track.warn import warn_once


class LogsMedia(ABC):
    """The calls for media; `Run` keeps what they are given."""

    @abstractmethod
    def add_media(
        self, kind: str, name: str, *, step: Optional[int], type: str, value: Any, time: Optional[float] = None
    ) -> None:
        """Keep one medium."""

    def log_text(self, name: str, text: str, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down a text: a sample that the model wrote, a remark."""
        self.add_media("text", name, step=step, type=type, value=text)

    def log_image(self, name: str, image: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down an image: a path, the bytes of a file, a PIL image, or an array H×W, H×W×C or C×H×W."""
        self.add_media("image", name, step=step, type=type, value=image)

    def log_audio(
        self, name: str, audio: Any, step: Optional[int] = None, *, sample_rate: int = 44_100, type: str = "train"
    ) -> None:
        """Write down a sound: a path, the bytes of a WAV, MP3, FLAC or Ogg file, or samples from -1 to 1."""
        self.add_media("audio", name, step=step, type=type, value=(audio, sample_rate))

    def log_video(self, name: str, video: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down a video: the path or the bytes of an MP4 or WebM file."""
        self.add_media("video", name, step=step, type=type, value=video)

    def log_figure(self, name: str, figure: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down a figure of Matplotlib, as it is now."""
        self.add_media("figure", name, step=step, type=type, value=figure)

    def log_table(
        self,
        name: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        step: Optional[int] = None,
        *,
        type: str = "train",
    ) -> None:
        """Write down a table: the names of its columns, and rows with one cell for each."""
        self.add_media("table", name, step=step, type=type, value=(columns, rows))

    def log_histogram(
        self, name: str, values: Any, step: Optional[int] = None, *, bins: int = 64, type: str = "train"
    ) -> None:
        """Write down how values are spread: any sequence, array or tensor of numbers."""
        try:
            self.add_media("histogram", name, step=step, type=type, value=media.count(values, bins))
        except Exception as error:
            warn_once(f"histogram {name}", f"log_histogram({name!r}) could not be kept: {error!r:.300}")
