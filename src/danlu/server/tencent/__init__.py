"""A door for Tencent Cloud's own SDK of TI-ONE, unchanged: its signed API and its object storage, answered by Danlu."""
