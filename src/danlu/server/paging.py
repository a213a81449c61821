"""Cursors. To a client a cursor is a word that it sends back."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import Query

Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[Optional[str], Query(max_length=2000)]
