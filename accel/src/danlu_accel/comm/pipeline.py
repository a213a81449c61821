"""The thread that exchanges gradients while backward is still computing.

All exchanges of a rank run on this one thread, in the order in which DDP passes its buckets, which is the same on
every rank. Collectives started from `Future.then()` callbacks would run in the order in which futures complete, and
gloo ranks would deadlock.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable

import torch

from danlu_accel.comm.errors import CommError
from danlu_accel.comm.exchange import Exchange
from danlu_accel.comm.pieces import Bucket, Cutter, Piece
from danlu_accel.comm.settings import Settings
from danlu_accel.comm.stats import StepCounter, StepStats

Choose = Callable[[int], Exchange]
"""Returns the algorithm of a step. Called on every rank at the start of each step, so it may broadcast."""


class Pipeline:
    """Takes buckets and completes their futures. After a failure every bucket is NaN and `raise_error` raises."""

    def __init__(self, plain: Exchange, settings: Settings) -> None:
        self._plain = plain
        self._depth = settings.options.depth
        self._wire = settings.wire
        self._cutter = Cutter(None, settings.options.fusion_bytes)
        self._exchange = plain
        self._under_way: deque[_Journey] = deque()
        self._next_slot = 0
        self._unfinished: list[Bucket] = []
        self._counter: StepCounter | None = None
        self._queue: queue.SimpleQueue[Bucket | None] = queue.SimpleQueue()
        self.error: CommError | None = None
        self.steps: deque[StepStats] = deque(maxlen=1000)
        self._num_steps = 0
        self._thread: threading.Thread | None = None

    def start(self, choose: Choose) -> None:
        """Start the thread. Its tensor operations use one core, so that ranks do not compete for cores."""
        num_threads = torch.get_num_threads()
        is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(choose, is_ready), name="danlu-accel-comm", daemon=True)
        self._thread.start()
        is_ready.wait()
        torch.set_num_threads(num_threads)  # starting the thread changed the default of future threads

    def put(self, bucket: Bucket) -> None:
        """Queue a bucket and return at once."""
        if self.error is None:
            self._queue.put(bucket)
        else:
            bucket.spoil()

    def raise_error(self) -> None:
        """Raise the error of a failed exchange, if any."""
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Finish the queued buckets and stop. Does nothing if already stopped."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(timeout=10)
        self.error = self.error or CommError("the exchange was closed; close it after the last backward")

    def _run(self, choose: Choose, is_ready: threading.Event) -> None:
        torch.set_num_threads(1)
        is_ready.set()
        while (bucket := self._queue.get()) is not None:
            self._unfinished.append(bucket)
            try:
                if self.error is not None:
                    raise self.error
                self._take(bucket, choose)
            except Exception as error:  # any failure must reach the training loop, which would wait forever otherwise
                self._fail(error)

    def _take(self, bucket: Bucket, choose: Choose) -> None:
        counter = self._counter
        if counter is None:
            counter = self._counter = StepCounter(first_at=bucket.handed_over_at)
            self._exchange = choose(self._num_steps)
            self._cutter.piece_bytes = self._exchange.piece_bytes
        counter.num_buckets += 1
        counter.last_at = bucket.handed_over_at
        counter.gradient_bytes += bucket.buffer.numel() * bucket.buffer.element_size() if bucket.is_dense else 0
        for piece in self._cutter.cut(bucket):
            counter.num_pieces += 1
            self._push(piece, counter)
        if bucket.is_last:
            landed = self._drain(counter)
            self._end_step(counter)  # before the last results: their receiver may ask for the statistics
            for piece in landed:
                self._land(piece)

    def _push(self, piece: Piece, counter: StepCounter) -> None:
        """Start a piece, then advance older ones by a stage: as many are in progress as there are slots."""
        exchange = self._exchange if piece.is_dense else self._plain
        journey = _Journey(piece, exchange, self._next_slot % self._depth)
        self._next_slot += 1
        self._under_way.append(journey)
        journey.advance(counter)
        newest = len(self._under_way) - 1
        for age, older in [(newest - place, older) for place, older in enumerate(self._under_way)]:
            due = 1 + age * (older.exchange.num_stages - 1) // (self._depth - 1)
            while older.stage < due:
                older.advance(counter)
        while self._under_way and self._under_way[0].is_over:
            self._land(self._under_way.popleft().piece)

    def _drain(self, counter: StepCounter) -> list[Piece]:
        """Finish all pieces in progress."""
        journeys = list(self._under_way)
        while not all(journey.is_over for journey in journeys):
            for journey in journeys:
                journey.advance(counter)
        self._under_way.clear()
        return [journey.piece for journey in journeys]

    def _land(self, piece: Piece) -> None:
        for segment in piece.segments:
            bucket = segment.bucket
            bucket.num_pieces_open -= 1
            if bucket.is_cut and bucket.num_pieces_open == 0:
                self._unfinished.remove(bucket)
                bucket.done.set_result(bucket.buffer)

    def _end_step(self, counter: StepCounter) -> None:
        now = time.perf_counter()
        self.steps.append(counter.finished(self._num_steps, self._exchange.name, self._wire, now))
        self._num_steps += 1
        self._counter = None

    def _fail(self, error: Exception) -> None:
        if self.error is None:
            self.error = error if isinstance(error, CommError) else CommError(f"{type(error).__name__}: {error}")
            self._exchange.give_up(str(error))
        self._under_way.clear()
        unfinished, self._unfinished = self._unfinished, []
        for bucket in unfinished:
            bucket.spoil()


class _Journey:
    """A piece and its current stage."""

    def __init__(self, piece: Piece, exchange: Exchange, slot: int) -> None:
        self.piece = piece
        self.exchange = exchange
        self.slot = slot
        self.stage = 0

    @property
    def is_over(self) -> bool:
        return self.stage == self.exchange.num_stages

    def advance(self, counter: StepCounter) -> None:
        if not self.is_over:
            self.exchange.run(self.stage, self.piece, self.slot, counter)
            self.stage += 1
