"""What the platform tells of itself, in SQL: counts, alerts, notices, webhooks and their deliveries."""
