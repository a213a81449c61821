"""Listening to other libraries, and where what is heard is written."""
