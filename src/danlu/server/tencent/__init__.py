"""Serves Tencent Cloud's own, unmodified SDK of TI-ONE: its signed API and its object storage."""
