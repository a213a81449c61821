"""Checks of shape A: version 1.0, and 1.2, which adds super pods."""

from __future__ import annotations

from danlu.launch.ranktable.faults import Chip, Item, Reader
from danlu.launch.ranktable.rules import LARGEST_DEVICE_ID, counts_fault, ring_fault

LONGEST_SERVER_ID = 64
_SERVERS = "expected a list with one object for each server"
_DEVICES = "expected a list with one object for each device"


def check_versioned(reader: Reader, table: Item, *, version: str, chip: Chip | None) -> None:
    servers = reader.items(table, "server_list", _SERVERS)
    count = reader.number(table, "server_count", f'expected "{len(servers)}"', may_be_missing=True)
    listed = table.values.get("server_list")
    if count is not None and isinstance(listed, list) and listed and count != len(listed):
        reader.add("server_count", str(count), f'server_list has {len(listed)}; expected "{len(listed)}"')
    _check_server_ids(reader, servers)
    _check_host_ips(reader, servers)
    devices = [reader.items(server, "device", _DEVICES) for server in servers]
    for server, inner in zip(servers, devices, strict=True):
        _check_device_ids(reader, server, inner, chip)
    _check_counts(reader, servers, devices, chip)
    every = [device for inner in devices for device in inner]
    needs_addresses = len(servers) > 1 and not (version == "1.2" and _is_one_pod(table))
    _check_ips(reader, every, are_needed=needs_addresses)
    check_ranks(reader, {server.at("device"): inner for server, inner in zip(servers, devices, strict=True)})
    for device in every:
        port = reader.number(device, "device_port", "expected a port, 1 to 65535", may_be_missing=True)
        if port is not None and not 1 <= port <= 65535:
            reader.add(device.at("device_port"), str(port), "expected a port, 1 to 65535")
    if version == "1.2" and "super_pod_list" in table.values:
        _check_super_pods(reader, table, servers, devices)


def check_ranks(reader: Reader, by_server: dict[str, list[Item]]) -> None:
    """Check that every rank from 0 occurs once, and that ranks of a server are consecutive, as HCCL requires."""
    devices = [device for inner in by_server.values() for device in inner]
    if not _is_each_rank_once(reader, devices):
        return
    for path, inner in by_server.items():
        ranks = sorted(int(device.values["rank_id"]) for device in inner)
        if ranks and ranks[-1] - ranks[0] >= len(ranks):
            reader.add(path, ", ".join(map(str, ranks)), "expected ranks that follow each other on each server")


def _is_each_rank_once(reader: Reader, devices: list[Item]) -> bool:
    num_faults = len(reader.faults)
    last = len(devices) - 1
    right = f'expected each of "0" to "{last}" once'
    found: dict[object, str] = {}
    for device in devices:
        rank = reader.number(device, "rank_id", right)
        if rank is None:
            continue
        if rank > last:
            reader.add(device.at("rank_id"), str(rank), f"there are {len(devices)} devices; {right}")
        reader.unique(found, str(rank), device.at("rank_id"), right)
    return len(reader.faults) == num_faults


def _is_one_pod(table: Item) -> bool:
    """Whether all servers are in one super pod, within which devices do not use their network cards."""
    pods = table.values.get("super_pod_list")
    return isinstance(pods, list) and len(pods) == 1


def _check_server_ids(reader: Reader, servers: list[Item]) -> None:
    found: dict[object, str] = {}
    for server in servers:
        right = "expected the server's own address or name"
        name = reader.text(server, "server_id", right)
        if name is None:
            continue
        if not name:
            reader.add(server.at("server_id"), name, right)
            continue
        if len(name) > LONGEST_SERVER_ID:
            reader.add(server.at("server_id"), name, f"expected at most {LONGEST_SERVER_ID} characters")
        reader.unique(found, name, server.at("server_id"), "each server is listed once, with all of its devices")


def _check_host_ips(reader: Reader, servers: list[Item]) -> None:
    having = [server for server in servers if "host_ip" in server.values]
    for server in servers:
        if having and server not in having:
            reader.add_missing(server.at("host_ip"), f"{having[0].path} has one; give it for all servers or for none")
    for server in having:
        text = reader.text(server, "host_ip", "expected an address")
        if text is not None:
            reader.addresses(server, "host_ip", text)


def _check_device_ids(reader: Reader, server: Item, devices: list[Item], chip: Chip | None) -> None:
    last = LARGEST_DEVICE_ID[chip]
    found: dict[object, str] = {}
    for device in devices:
        number = reader.number(device, "device_id", f'expected the physical id, "0" to "{last}"')
        if number is None:
            continue
        if number > last:
            reader.add(device.at("device_id"), str(number), f'expected the physical id, "0" to "{last}"')
        reader.unique(found, str(number), device.at("device_id"), "each device of a server is listed once")
    ids = [int(str(number)) for number in found]
    fault = ring_fault(ids, chip)
    if fault:
        reader.add(server.at("device"), ", ".join(map(str, ids)), fault)


def _check_counts(reader: Reader, servers: list[Item], devices: list[list[Item]], chip: Chip | None) -> None:
    for server, inner in zip(servers, devices, strict=True):
        if not inner:
            continue
        if devices[0] and len(inner) != len(devices[0]):
            right = f"{servers[0].path} has {len(devices[0])}; expected the same number on each server"
            reader.add(server.at("device"), [None] * len(inner), right)
            return
        fault = counts_fault(len(inner), chip)
        if fault:
            reader.add(server.at("device"), [None] * len(inner), fault)


def _check_ips(reader: Reader, devices: list[Item], *, are_needed: bool) -> None:
    found: dict[object, str] = {}
    first: tuple[str, int] | None = None
    for device in devices:
        right = "the address of the device's own network card is needed when there is more than one server"
        text = reader.text(device, "device_ip", right, may_be_missing=not are_needed)
        if not text:
            if text == "" and are_needed:
                reader.add(device.at("device_ip"), text, right)
            continue
        addresses = reader.addresses(device, "device_ip", text)
        for address in addresses:
            reader.unique(found, address, device.at("device_ip"), "each device has an address of its own")
        num_addresses = text.count(",") + 1
        first = first or (device.at("device_ip"), num_addresses)
        if num_addresses != first[1]:
            reader.add(device.at("device_ip"), text, f"{first[0]} has {first[1]}; every device has the same number")


def _check_super_pods(reader: Reader, table: Item, servers: list[Item], devices: list[list[Item]]) -> None:
    pods = reader.items(table, "super_pod_list", "expected a list with one object for each super pod")
    by_id = {server.values.get("server_id"): inner for server, inner in zip(servers, devices, strict=True)}
    seen: dict[object, str] = {}
    pod_ids: dict[object, str] = {}
    sizes: list[int] = []
    for pod in pods:
        name = reader.text(pod, "super_pod_id", "expected a different name for each super pod")
        if name is not None:
            reader.unique(pod_ids, name, pod.at("super_pod_id"), "each super pod has its own")
        members = reader.items(pod, "server_list", _SERVERS)
        sizes.append(len(members))
        inside: dict[object, str] = {}
        for member in members:
            server_id = reader.text(member, "server_id", "expected a server_id of server_list")
            if server_id is None:
                continue
            if server_id not in by_id:
                reader.add(member.at("server_id"), server_id, "no server in server_list has this server_id")
            reader.unique(seen, server_id, member.at("server_id"), "a server is in one super pod")
            for device in by_id.get(server_id, []):
                number = reader.text(device, "super_device_id", "super_pod_list needs it for each device")
                if number is not None:
                    path = device.at("super_device_id")
                    reader.unique(inside, number, path, "each is unique inside its super pod")
    if sizes and min(sizes) != max(sizes):
        told = f"{' and '.join(str(size) for size in sizes[:4])} servers"
        reader.add("super_pod_list", told, "expected the same number of servers in each super pod")
    for server in servers:
        if pods and server.values.get("server_id") not in seen:
            reader.add(server.at("server_id"), server.values.get("server_id"), "no super pod lists this server")
