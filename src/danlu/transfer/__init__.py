"""The one way for bytes between this machine and the server: objects, trees, journals and artifacts.

A *carrier* sends single requests; `retrying` says what is tried again and for how long; an `Api` is both. Everything
else here works on an `Api` and knows nothing of connections. Standard library only: the same code runs in the client,
on nodes and beside training scripts.

| word  | meaning |
|-------|---------|
| block | bytes that are read from a file or a connection at one time |
| chunk | a piece of an artifact, cut by content and named by its SHA-256 |
| batch | small files that travel in one request |
| part  | a numbered stretch of a large object, sent to the object service by a grant |
| range | a stretch of a large object that is fetched in one request |
"""
