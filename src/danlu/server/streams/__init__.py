"""Answers that go on: one look at the database serves everybody who follows the same thing."""
