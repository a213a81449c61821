"""OpenStack Swift with its S3 API in one process, for tests: `python -m danlu.testing.swift_server FOLDER PORT`.

One account, one disk, one replica; the account's key pair is read from the environment. Needs `pip install swift`.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Optional

PARTITION_POWER = 4

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = danlu

[storage-policy:0]
name = one
default = yes
"""

PROXY_CONF = """
[DEFAULT]
swift_dir = {folder}

[pipeline:main]
pipeline = catch_errors gatekeeper cache bulk s3api tempauth copy slo dlo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true

[filter:cache]
paste.filter_factory = danlu.testing.swift_server:make_cache

[filter:s3api]
use = egg:swift#s3api
location = us-east-1

[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret} .admin

[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:bulk]
use = egg:swift#bulk
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""

App = Callable[[dict[str, Any], Any], Iterable[bytes]]


def main(folder: Path, port: int) -> None:
    """Serve until killed."""
    import eventlet

    eventlet.monkey_patch(all=False, socket=True, select=True, thread=True)
    import eventlet.wsgi
    from swift.common import storage_policy, utils

    (folder / "devices" / "disk").mkdir(parents=True)
    (folder / "swift.conf").write_text(SWIFT_CONF)
    account, _, user = os.environ["SWIFT_KEY_ID"].partition(":")
    secret = os.environ["SWIFT_SECRET"]
    proxy = folder / "proxy.conf"
    proxy.write_text(PROXY_CONF.format(folder=folder, account=account, user=user, secret=secret))
    utils.set_swift_dir(str(folder))
    storage_policy.reload_storage_policies()

    from swift.account.server import AccountController
    from swift.common.wsgi import loadapp
    from swift.container.server import ContainerController
    from swift.obj.server import ObjectController

    controllers = {"account": AccountController, "container": ContainerController, "object": ObjectController}
    conf = {"devices": str(folder / "devices"), "swift_dir": str(folder), "mount_check": "false"}
    for kind, controller in controllers.items():
        listener = eventlet.listen(("127.0.0.1", 0))
        _save_ring(folder / f"{kind}.ring.gz", listener.getsockname()[1])
        eventlet.spawn(eventlet.wsgi.server, listener, controller(conf), log_output=False)
    front = loadapp(str(proxy), global_conf={})
    eventlet.wsgi.server(eventlet.listen(("127.0.0.1", port)), front, log_output=False)


def _save_ring(file: Path, port: int) -> None:
    """All partitions are on one disk behind this port."""
    from swift.common.ring import RingData

    where = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    disk = {"id": 0, "region": 1, "zone": 0, "device": "disk", "weight": 1, "meta": "", **where}
    RingData([array("H", [0] * (1 << PARTITION_POWER))], [disk], 32 - PARTITION_POWER).save(str(file))


def make_cache(global_conf: dict[str, str], **conf: str) -> Callable[[App], App]:  # noqa: ARG001
    """A paste filter that replaces memcached."""
    cache = _Cache()

    def wrap(app: App) -> App:
        def call(env: dict[str, Any], start: Any) -> Iterable[bytes]:
            env["swift.cache"] = cache
            return app(env, start)

        return call

    return wrap


class _Cache:
    """Replacement of Swift's memcached client, in memory."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def get(self, key: str, **options: object) -> Optional[Any]:  # noqa: ARG002
        return self._values.get(key)

    def set(self, key: str, value: Any, **options: object) -> None:  # noqa: ARG002
        self._values[key] = value

    def incr(self, key: str, delta: int = 1, **options: object) -> int:  # noqa: ARG002
        self._values[key] = int(self._values.get(key, 0)) + delta
        return int(self._values[key])

    def delete(self, key: str, **options: object) -> None:  # noqa: ARG002
        self._values.pop(key, None)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
