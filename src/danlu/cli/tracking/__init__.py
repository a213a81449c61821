"""Commands for runs, artifacts, models and data flow."""
