"""Metrics for Prometheus and traces for OpenTelemetry."""
