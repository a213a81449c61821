"""What a run writes down besides numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Optional

from danlu.track.media import frames
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

    def log_images(
        self,
        name: str,
        images: Any,
        step: Optional[int] = None,
        *,
        captions: Optional[Sequence[Any]] = None,
        type: str = "train",
    ) -> None:
        """Write down images that belong together, such as a batch N×H×W×C or N×C×H×W: 100 at most, with captions."""
        self.add_media("images", name, step=step, type=type, value=(images, captions))

    def log_audio(
        self, name: str, audio: Any, step: Optional[int] = None, *, sample_rate: int = 44_100, type: str = "train"
    ) -> None:
        """Write down a sound: a path, the bytes of a WAV, MP3, FLAC or Ogg file, or samples from -1 to 1."""
        self.add_media("audio", name, step=step, type=type, value=(audio, sample_rate))

    def log_video(
        self, name: str, video: Any, step: Optional[int] = None, *, fps: float = 4, type: str = "train"
    ) -> None:
        """Write down a video: the path or the bytes of an MP4 or WebM file; or arrays T×H×W×C, which become a GIF."""
        self.add_media("video", name, step=step, type=type, value=(video, fps))

    def log_figure(self, name: str, figure: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down a figure of Matplotlib, as it is now, or of Plotly, which one can zoom in the console."""
        self.add_media("figure", name, step=step, type=type, value=figure)

    def log_html(self, name: str, html: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Write down a page: HTML as text. The console shows it in a frame that reaches nothing else."""
        self.add_media("html", name, step=step, type=type, value=html)

    def log_confusion_matrix(
        self,
        name: str,
        truth: Any,
        predicted: Any,
        step: Optional[int] = None,
        *,
        labels: Optional[Sequence[Any]] = None,
        type: str = "val",
    ) -> None:
        """Write down how often which label was taken for which: true and predicted labels, or their numbers."""
        self.add_media("confusion_matrix", name, step=step, type=type, value=(truth, predicted, labels))

    def log_pr_curve(
        self,
        name: str,
        truth: Any,
        scores: Any,
        step: Optional[int] = None,
        *,
        labels: Optional[Sequence[Any]] = None,
        type: str = "val",
    ) -> None:
        """Write down precision over recall. `scores` are of the positive class, or N×C with a column per label."""
        self.add_media("pr_curve", name, step=step, type=type, value=(truth, scores, labels))

    def log_roc_curve(
        self,
        name: str,
        truth: Any,
        scores: Any,
        step: Optional[int] = None,
        *,
        labels: Optional[Sequence[Any]] = None,
        type: str = "val",
    ) -> None:
        """Write down true over false positives. `scores` are of the positive class, or N×C with a column per label."""
        self.add_media("roc_curve", name, step=step, type=type, value=(truth, scores, labels))

    def log_table(
        self,
        name: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        step: Optional[int] = None,
        *,
        type: str = "train",
    ) -> None:
        """Write down a table: names of columns, and rows with a cell for each. In the console a column sorts it."""
        self.add_media("table", name, step=step, type=type, value=(columns, rows))

    def log_histogram(
        self, name: str, values: Any, step: Optional[int] = None, *, bins: int = 64, type: str = "train"
    ) -> None:
        """Write down how values are spread: any sequence, array or tensor of numbers."""
        try:
            self.add_media("histogram", name, step=step, type=type, value=frames.count(values, bins))
        except Exception as error:
            warn_once(f"histogram {name}", f"log_histogram({name!r}) could not be kept: {error!r:.300}")
