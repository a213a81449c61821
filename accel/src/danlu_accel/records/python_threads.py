"""Thread pools for work on single images."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

_changing = threading.Lock()
# a fork waits until no thread holds it: in the child nobody would release it
os.register_at_fork(before=_changing.acquire, after_in_parent=_changing.release, after_in_child=_changing.release)


def thread_pool(threads: int, name: str) -> ThreadPoolExecutor:
    """Return a pool in which torch uses one thread per thread of the pool: more would compete with each other."""
    import torch

    torch.get_num_threads()  # fixes the number of the calling thread, so that it does not change
    return ThreadPoolExecutor(threads, name, initializer=_keep_torch_to_this_thread)


def _keep_torch_to_this_thread() -> None:
    """torch keeps this number per thread, and setting it changes the initial number of new threads: restore that."""
    import torch

    with _changing:
        usual = torch.get_num_threads()
        torch.set_num_threads(1)
        others = threading.Thread(target=torch.set_num_threads, args=(usual,))
        others.start()
        others.join()
