"""Traces: a collector gets spans of requests and of looks of the scheduler, over OTLP."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.support.receivers import Receiver, receiving
from tests.support.world import World

from danlu.server.monitoring.instruments import Instruments
from danlu.server.monitoring.traces import make_traces


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiving() as made:
        made.status = 200
        yield made


def spans(collector: Receiver) -> dict[str, Span]:
    found: dict[str, Span] = {}
    for got in collector.got:
        assert got.path == "/v1/traces"
        body = gzip.decompress(got.body) if got.headers.get("Content-Encoding") == "gzip" else got.body
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                found.update({span.name: span for span in scope.spans})
    return found


def test_requests_and_looks_are_traced(world: World, collector: Receiver) -> None:
    instruments = Instruments(make_traces(collector.url(""), "one"))
    world.state = replace(world.state, instruments=instruments)
    trace = "0af7651916cd43dd8448eb211c80319c"
    with world.serving() as url:
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        assert httpx.get(f"{url}/api/v1/jobs/nothing", headers=headers).status_code == 401
    with instruments.look("queue"):
        pass
    instruments.traces.stop()
    found = spans(collector)
    assert sorted(found) == ["GET /jobs/{job}", "scheduler.queue"]
    request = found["GET /jobs/{job}"]
    assert request.trace_id.hex() == trace, "the trace of who asks goes on"
    told = {one.key: one.value for one in request.attributes}
    assert told["http.route"].string_value == "/jobs/{job}"
    assert told["http.response.status_code"].int_value == 401


def test_a_collector_that_is_away_costs_nothing_but_the_spans(world: World) -> None:
    with receiving() as gone:
        url = gone.url("")
    instruments = Instruments(make_traces(url, ""))
    with instruments.look("queue"):
        pass
    assert make_traces("", "").span("x") is not None
    instruments.traces.stop()  # else its thread goes on trying, beside other tests
