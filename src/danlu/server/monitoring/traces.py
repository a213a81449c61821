"""Traces by OpenTelemetry, if an endpoint is set. Its packages are imported only then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import danlu
from danlu.errors import Unavailable

NEEDED = "pip install 'danlu[otel]'"


class Span(Protocol):
    """Sets what is known only at the end of a span."""

    def set_attribute(self, key: str, value: str | int) -> object: ...

    def update_name(self, name: str) -> object: ...


class _NoSpan:
    def set_attribute(self, key: str, value: str | int) -> None:
        """Do nothing."""

    def update_name(self, name: str) -> None:
        """Do nothing."""


class Traces:
    """Tracing that is disabled."""

    @contextmanager
    def span(self, name: str, carrier: Mapping[str, str] | None = None) -> Iterator[Span]:
        """Trace a block of code. `carrier`: headers of the request; a trace that they name is continued."""
        del name, carrier
        yield _NO_SPAN

    def stop(self) -> None:
        """Send remaining spans."""


class OtelTraces(Traces):
    """Sends spans to a collector, over OTLP and HTTP. While the collector is unavailable, only spans are lost."""

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
    """Traces as configured. Raise Unavailable when OpenTelemetry is needed and not installed."""
    return OtelTraces(endpoint, name) if endpoint else NO_TRACES
