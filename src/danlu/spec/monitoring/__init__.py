"""What the platform tells people: alerts, and events that they hear of."""
