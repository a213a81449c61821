"""Catalogues of other platforms: files with the names, shapes and prices that their users know."""
