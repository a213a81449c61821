"""The methods of a run that log media."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Optional

from danlu.track.media import frames
from danlu.track.values import brief
from danlu.track.warn import warn_once


class LogsMedia(ABC):
    """Methods for media; `Run` records them."""

    @abstractmethod
    def add_media(
        self, kind: str, name: str, *, step: Optional[int], type: str, value: Any, time: Optional[float] = None
    ) -> None:
        """Record one medium."""

    def log_text(self, name: str, text: str, step: Optional[int] = None, *, type: str = "train") -> None:
        """Log a text, such as a generated sample or a remark."""
        self.add_media("text", name, step=step, type=type, value=text)

    def log_image(self, name: str, image: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Log an image: a path, the bytes of a file, a PIL image, or an array H×W, H×W×C or C×H×W."""
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
        """Log up to 100 related images with captions, such as a batch N×H×W×C or N×C×H×W."""
        self.add_media("images", name, step=step, type=type, value=(images, captions))

    def log_audio(
        self, name: str, audio: Any, step: Optional[int] = None, *, sample_rate: int = 44_100, type: str = "train"
    ) -> None:
        """Log audio: a path, the bytes of a WAV, MP3, FLAC or Ogg file, or samples from -1 to 1."""
        self.add_media("audio", name, step=step, type=type, value=(audio, sample_rate))

    def log_video(
        self, name: str, video: Any, step: Optional[int] = None, *, fps: float = 4, type: str = "train"
    ) -> None:
        """Log a video: the path or the bytes of an MP4 or WebM file; or arrays T×H×W×C, which become a GIF."""
        self.add_media("video", name, step=step, type=type, value=(video, fps))

    def log_figure(self, name: str, figure: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Log a figure of Matplotlib in its current state, or of Plotly, which is interactive in the console."""
        self.add_media("figure", name, step=step, type=type, value=figure)

    def log_html(self, name: str, html: Any, step: Optional[int] = None, *, type: str = "train") -> None:
        """Log an HTML page. The console shows it in an isolated frame."""
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
        """Log a confusion matrix from true and predicted labels, or their indexes."""
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
        """Log a precision-recall curve. `scores` are of the positive class, or N×C with a column per label."""
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
        """Log a ROC curve. `scores` are of the positive class, or N×C with a column per label."""
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
        """Log a table: names of columns, and rows with a cell for each. It can be sorted in the console."""
        self.add_media("table", name, step=step, type=type, value=(columns, rows))

    def log_histogram(
        self, name: str, values: Any, step: Optional[int] = None, *, bins: int = 64, type: str = "train"
    ) -> None:
        """Log a histogram of any sequence, array or tensor of numbers."""
        try:
            self.add_media("histogram", name, step=step, type=type, value=frames.count(values, bins))
        except Exception as error:
            warn_once(
                f"histogram {brief(name)}", f"log_histogram({brief(name)}) could not be kept: {brief(error, 300)}"
            )
