"""Python threads that work beside each other, image by image."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

_changing = threading.Lock()


def thread_pool(threads: int, name: str) -> ThreadPoolExecutor:
    """Return a pool in whose threads torch does not start threads of its own: they would stand in each other's way."""
    import torch

    torch.get_num_threads()  # settles it for the calling thread, whose number stays
    return ThreadPoolExecutor(threads, name, initializer=_keep_torch_to_this_thread)


def _keep_torch_to_this_thread() -> None:
    """torch keeps the number per thread, and sets with it what threads begin with that ask for the first time later."""
    import torch

    with _changing:
        usual = torch.get_num_threads()
        torch.set_num_threads(1)
        others = threading.Thread(target=torch.set_num_threads, args=(usual,))
        others.start()
        others.join()
