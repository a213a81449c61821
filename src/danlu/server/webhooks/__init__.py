"""Webhooks: addresses that are told of events, and the deliveries to them."""
