"""Persistent state: SQL tables, log segments, metrics and objects. All SQL is here."""
