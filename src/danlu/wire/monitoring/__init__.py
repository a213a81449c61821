"""Alerts, notices and webhooks on the wire."""
