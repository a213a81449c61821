"""Alerts and events."""
