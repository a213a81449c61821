"""Monitoring in SQL: counts, alerts, notices, webhooks and their deliveries."""
