"""Checks of the shapes without a version: B, which has `deploy_mode`, and C."""

from __future__ import annotations

from danlu.launch.ranktable.check_versioned import check_ranks
from danlu.launch.ranktable.faults import Item, Reader, is_address, shown

DEVICES_PER_SERVER = (1, 2, 4, 8, 16)
LARGEST_DEVICE_ID = 7
_GROUPS = "expected a list with one object for each group"
_DEVICES = "expected a list with the instance's devices"
_DEVICE_ID = f'expected the physical id, "0" to "{LARGEST_DEVICE_ID}"'
_SERVER_ID = "expected the server's own address"


def check_b(reader: Reader, table: Item) -> None:
    """Check shape B: one instance per device, each with its rank."""
    mode = reader.text(table, "deploy_mode", 'expected "lab"')
    if mode is not None and mode != "lab":
        reader.add("deploy_mode", mode, 'expected "lab"')
    place = reader.text(table, "para_plane_nic_location", 'expected "device"')
    if place is not None and place != "device":
        reader.add("para_plane_nic_location", place, 'expected "device"')
    every: list[Item] = []
    for group in _groups(reader, table):
        instances = reader.items(group, "instance_list", "expected a list with one object for each device")
        every += instances
        _check_size(reader, group, "instance_count", len(instances), "instances")
        total = _check_size(reader, group, "device_num", len(instances), "devices")
        _check_server_num(reader, group, instances, total)
        _check_devices_of_b(reader, instances)
    by_server: dict[str, list[Item]] = {}
    for instance in every:
        by_server.setdefault(f"instances of server {shown(instance.values.get('server_id'))}", []).append(instance)
    check_ranks(reader, by_server)


def check_c(reader: Reader, table: Item) -> None:
    """Check shape C: one instance per task; HCCL numbers the ranks."""
    pods: dict[object, str] = {}
    for group in _groups(reader, table):
        instances = reader.items(group, "instance_list", "expected a list with one object for each task")
        _check_size(reader, group, "instance_count", len(instances), "instances")
        num_devices = 0
        found: dict[object, str] = {}
        ips: dict[object, str] = {}
        for instance in instances:
            name = reader.text(instance, "pod_name", "expected the task's name")
            if name == "":
                reader.add(instance.at("pod_name"), name, "expected the task's name")
            elif name is not None:
                reader.unique(pods, name, instance.at("pod_name"), "each task has its own")
            server = _check_server_id(reader, instance)
            devices = reader.items(instance, "devices", _DEVICES)
            num_devices += len(devices)
            for device in devices:
                _check_device(reader, device, found, server)
                _check_ip(reader, device, ips, may_be_missing=len(instances) < 2, may_be_empty=len(instances) < 2)
        _check_size(reader, group, "device_count", num_devices, "devices")


def _groups(reader: Reader, table: Item) -> list[Item]:
    groups = reader.items(table, "group_list", _GROUPS)
    count = reader.number(table, "group_count", f'expected "{max(1, len(groups))}"')
    if count is not None and groups and count != len(groups):
        reader.add("group_count", str(count), f'group_list has {len(groups)}; expected "{len(groups)}"')
    names: dict[object, str] = {}
    for group in groups:
        name = reader.text(
            group, "group_name", "expected a different name for each group", may_be_missing=len(groups) == 1
        )
        if name is not None:
            reader.unique(names, name, group.at("group_name"), "each group has its own")
    return groups


def _check_size(reader: Reader, group: Item, name: str, actual: int, noun: str) -> int | None:
    right = f'expected "{actual}"'
    count = reader.number(group, name, right)
    if count is not None and actual and count != actual:
        reader.add(group.at(name), str(count), f"there are {actual} {noun}; {right}")
    return count


def _check_server_num(reader: Reader, group: Item, instances: list[Item], total: int | None) -> None:
    names = {instance.values.get("server_id") for instance in instances if "server_id" in instance.values}
    right = f'expected "{len(names)}"'
    servers = reader.number(group, "server_num", right)
    if servers is None or not instances:
        return
    if servers == 0 or servers != len(names):
        reader.add(group.at("server_num"), str(servers), f"the instances name {len(names)} servers; {right}")
    elif total == len(instances) and (total % servers or total // servers not in DEVICES_PER_SERVER):
        told = f"{total} devices on {servers} servers; expected 1, 2, 4, 8 or 16 on each server"
        reader.add(group.at("device_num"), str(total), told)


def _check_devices_of_b(reader: Reader, instances: list[Item]) -> None:
    found: dict[object, str] = {}
    ips: dict[object, str] = {}
    for instance in instances:
        server = _check_server_id(reader, instance)
        devices = reader.items(instance, "devices", _DEVICES)
        if len(devices) > 1:
            told = "expected one device: in this shape every device is an instance of its own"
            reader.add(instance.at("devices"), instance.values["devices"], told)
        for device in devices:
            _check_device(reader, device, found, server)
            _check_ip(reader, device, ips, may_be_missing=False, may_be_empty=True)


def _check_server_id(reader: Reader, instance: Item) -> str | None:
    server = reader.text(instance, "server_id", _SERVER_ID)
    if server == "":
        reader.add(instance.at("server_id"), server, _SERVER_ID)
    return server


def _check_device(reader: Reader, device: Item, found: dict[object, str], server: str | None) -> None:
    number = reader.number(device, "device_id", _DEVICE_ID)
    if number is None:
        return
    path = device.at("device_id")
    if number > LARGEST_DEVICE_ID:
        reader.add(path, str(number), _DEVICE_ID)
    if (server, number) in found:
        told = f"it is listed at {found[server, number]} as well, on the same server; each device is listed once"
        reader.add(path, str(number), told)
    found.setdefault((server, number), path)


def _check_ip(
    reader: Reader, device: Item, found: dict[object, str], *, may_be_missing: bool, may_be_empty: bool
) -> None:
    right = "expected the address of the device's own network card"
    text = reader.text(device, "device_ip", right, may_be_missing=may_be_missing)
    if text is None or (text == "" and may_be_empty):
        return
    if not is_address(text):
        reader.add(device.at("device_ip"), text, f"not an address; {right}")
        return
    reader.unique(found, text, device.at("device_ip"), "each device has an address of its own")
