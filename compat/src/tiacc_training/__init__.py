"""The names of TI-ACC's training library, implemented by Danlu."""
