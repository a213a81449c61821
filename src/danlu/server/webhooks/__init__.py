"""Webhooks: addresses that events are sent to, and the deliveries."""
