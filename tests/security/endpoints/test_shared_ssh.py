"""Who enters a job by SSH: whoever may stop it, and its project where the endpoint `ssh` is shared."""

from __future__ import annotations

import asyncssh
import pytest
from tests.security.endpoints.conftest import Site
from tests.support.endpoints import Browser

from danlu.errors import InvalidInput
from danlu.gateway.ssh.gate import Guest, Wish
from danlu.server.endpoints import service
from danlu.server.ssh_keys import service as ssh_keys
from danlu.server.ssh_keys.operations import SshKeyGate
from danlu.spec.endpoints import SSH
from danlu.wire.endpoints import OpenEndpoint
from danlu.wire.ssh_keys import AddSshKey


def fingerprint_of_new_key(site: Site, who: str) -> str:
    key = asyncssh.generate_private_key("ssh-ed25519")
    body = AddSshKey(public_key=key.export_public_key().decode())
    site.world.database.write(ssh_keys.add_key, site.world.state, site.people[who], body)
    return str(key.get_fingerprint())


def entered(site: Site, who: str) -> Guest | None:
    return SshKeyGate(site.world.state).enter(Wish(site.jobs["ada"], 0), fingerprint_of_new_key(site, who))


def open_ssh(site: Site, *, is_shared: bool) -> None:
    world = site.world
    body = OpenEndpoint(is_shared=is_shared)
    world.database.write(service.open_endpoint, world.state, site.people["ada"], site.jobs["ada"], SSH, body=body)


def test_only_those_who_may_stop_the_job_enter_it(own_site: Site) -> None:
    assert entered(own_site, "ada") is not None
    assert entered(own_site, "olga") is not None
    open_ssh(own_site, is_shared=False)
    for who in ("ben", "vera", "finn"):
        assert entered(own_site, who) is None


def test_shared_it_is_for_those_who_may_submit_to_the_project(own_site: Site) -> None:
    open_ssh(own_site, is_shared=True)
    guest = entered(own_site, "ben")
    assert guest is not None
    assert entered(own_site, "vera") is None
    assert entered(own_site, "finn") is None
    gate = SshKeyGate(own_site.world.state)
    assert gate.may_stay(guest)
    open_ssh(own_site, is_shared=False)
    assert not gate.may_stay(guest), "whoever is in it is cut off"


def test_closed_it_is_shared_with_nobody(own_site: Site) -> None:
    world = own_site.world
    open_ssh(own_site, is_shared=True)
    guest = entered(own_site, "ben")
    assert guest is not None
    world.database.write(service.close_endpoint, world.state, own_site.people["ada"], own_site.jobs["ada"], SSH)
    assert not SshKeyGate(world.state).may_stay(guest)


def test_it_has_an_address_and_no_page(own_site: Site) -> None:
    open_ssh(own_site, is_shared=True)
    job, ada = own_site.jobs["ada"], own_site.people["ada"]
    listed = own_site.world.database.read(service.list_endpoints, own_site.world.state, ada, job)
    (address,) = [one.address for one in listed.items if one.name == SSH]
    assert address == f"ssh://{job}@127.0.0.1:{own_site.doors.settings.ssh_port}"
    with pytest.raises(InvalidInput, match=f"danlu ssh {job}"):
        own_site.world.database.write(service.make_link, own_site.world.state, ada, job, SSH)
    with own_site.browser() as browser, Browser(own_site.link("ada", "ada").replace("-8080.", "-ssh.")) as other:
        assert other.get("/", Cookie=browser.cookie).status_code == 401
