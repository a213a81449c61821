"""Traces by OpenTelemetry, where an endpoint is set. Its packages are loaded then and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import danlu
from danlu.errors import Unavailable

NEEDED = "pip install 'danlu[otel]'"


class Span(Protocol):
    """What is known only when something has been done."""

    def set_attribute(self, key: str, value: str | int) -> object: ...

    def update_name(self, name: str) -> object: ...


class _NoSpan:
    def set_attribute(self, key: str, value: str | int) -> None:
        """Nobody listens."""

    def update_name(self, name: str) -> None:
        """Nobody listens."""


class Traces:
    """Makes none."""

    @contextmanager
    def span(self, name: str, carrier: Mapping[str, str] | None = None) -> Iterator[Span]:
        """Around something that takes time. `carrier`: the headers of who asks; a trace that it names goes on here."""
        del name, carrier
        yield _NO_SPAN

    def stop(self) -> None:
        """Send what is left."""


class OtelTraces(Traces):
    """Sends spans to a collector, over OTLP and HTTP. A collector that is away costs nothing but the spans."""

    def __init__(self, endpoint: str, name: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as error:
            raise Unavailable(f"otlp_endpoint is set, and OpenTelemetry is not installed: {NEEDED}") from error
        told = {"service.name": "danlu", "service.version": danlu.__version__, "service.instance.id": name or "danlu"}
        self._provider = TracerProvider(resource=Resource.create(told))
        exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("danlu")
        self._propagator: Any = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, carrier: Mapping[str, str] | None = None) -> Iterator[Span]:
        parent = None if carrier is None else self._propagator.extract(carrier)
        with self._tracer.start_as_current_span(name, context=parent) as span:
            yield span

    def stop(self) -> None:
        self._provider.shutdown()


_NO_SPAN = _NoSpan()
NO_TRACES = Traces()


def make_traces(endpoint: str, name: str) -> Traces:
    """Those of the settings. Raise Unavailable when what they need is not installed."""
    return OtelTraces(endpoint, name) if endpoint else NO_TRACES
