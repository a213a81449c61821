"""The names of TI-ACC's training library, for scripts that use them; everything is Danlu's."""
