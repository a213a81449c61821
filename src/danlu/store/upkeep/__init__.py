"""Backup, restore, migration and clean-up of stores."""
