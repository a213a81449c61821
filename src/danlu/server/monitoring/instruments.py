"""Counters of events: requests and looks of the scheduler."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, ProcessCollector
from prometheus_client.metrics import disable_created_metrics

from danlu.server.monitoring.names import BY_NAME
from danlu.server.monitoring.traces import NO_TRACES, Traces

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class Instruments:
    """The counters of one server, in a registry of their own."""

    def __init__(self, traces: Traces = NO_TRACES) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.traces = traces
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = _counter("danlu_http_requests_total", self.registry)
        self._request_seconds = _histogram("danlu_http_request_seconds", self.registry)
        self._look_seconds = _histogram("danlu_scheduler_look_seconds", self.registry)
        self._failures = _counter("danlu_scheduler_failures_total", self.registry)

    def count_request(self, method: str, route: str, *, status: int, seconds: float) -> None:
        method = method if method in METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    @contextmanager
    def look(self, part: str) -> Iterator[None]:
        """Measure a look of the scheduler."""
        began = time.perf_counter()
        try:
            with self.traces.span(f"scheduler.{part}"):
                yield
        except Exception:
            self._failures.inc()
            raise
        finally:
            self._look_seconds.labels(part).observe(time.perf_counter() - began)


def _counter(name: str, registry: CollectorRegistry) -> Counter:
    return Counter(name, BY_NAME[name].meaning, BY_NAME[name].labels, registry=registry)


def _histogram(name: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, BY_NAME[name].meaning, BY_NAME[name].labels, registry=registry, buckets=SECONDS)
