"""What the platform tells Prometheus and OpenTelemetry of itself."""
