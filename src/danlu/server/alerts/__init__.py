"""Alerts: what is wrong although nothing has failed."""
