"""`mpi`, `horovod`, `deepspeed`, `colossalai`: the command runs once, on the launcher, and reaches the other tasks.

Without roles the launcher is the first node and has slots like the others; with the roles `launcher` and `worker` only
workers have slots. In every task an agent of Danlu (`node/mpi/rsh.py`) takes the place of sshd; it authenticates the
other tasks by the attempt's token. User guide: docs/guide/launch.md.
"""

from __future__ import annotations

import json
import pkgutil
import shlex
from functools import cache
from typing import NamedTuple

from danlu.launch import plain
from danlu.launch.additions import Additions
from danlu.launch.documented import DANLU, TIONE, Told
from danlu.launch.layout import Layout
from danlu.launch.placement import SANDBOX_ROOT, Placement, TaskPlacement
from danlu.spec.devices import CPU
from danlu.spec.job import JobSpec, LaunchMode
from danlu.spec.roles import LAUNCHER, Member, members

PROGRAMS = ("rsh.py", "rsh_agent.py", "rsh_wire.py")
PDSH, FABRIC = "pdsh.py", "fabric.py"
NAMES = {
    LaunchMode.MPI: ("ssh",),
    LaunchMode.HOROVOD: ("ssh",),
    LaunchMode.DEEPSPEED: ("ssh", "pdsh"),
    LaunchMode.COLOSSALAI: ("ssh",),
}
"""Programs that launchers call to reach other tasks. For mpirun a variable names the program."""

HOSTFILES = {LaunchMode.DEEPSPEED: ("/job/hostfile", "/t9k/hostfile"), LaunchMode.COLOSSALAI: ("/t9k/hostfile",)}
"""Additional paths of the hostfile: DeepSpeed's default, and that of TensorStack."""

CLIENT = "danlu-rsh"
DAEMONS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted", CLIENT)
"""On SIGTERM each of them would kill its ranks a second later. Only the ranks receive it, and have the job's grace."""
STARTS = (
    "The command runs once, on the launcher. Its mpirun starts the ranks in all tasks through an agent of Danlu's own, "
    "which takes the place of sshd; the other tasks wait for it until the launcher ends."
)
_OPEN_MPI = "Open MPI"
TOLD = {
    "NODE_NUM": Told("how many tasks have slots", TIONE),
    "GPU_NUM_PER_NODE": Told("slots of the first of them", TIONE),
    "GPU_NUM": Told("slots of all tasks: what to give mpirun as -np", TIONE),
    "NODE_LIST": Told("the host name of every task with slots, and how many", TIONE),
    "NODE_IP_SLOT_LIST": Told("the same with addresses: what to give mpirun as -H", TIONE),
    "MASTER_ADDR": Told("where rank 0 is", "PyTorch"),
    "MASTER_PORT": Told("a port there that is free", "PyTorch"),
    "DANLU_HOSTFILE": Told("the file that names all tasks with their slots", DANLU),
    "OMPI_ALLOW_RUN_AS_ROOT": Told("allows mpirun to run as root, which has no rights outside the job", _OPEN_MPI),
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": Told("the second half of that", _OPEN_MPI),
    "OMPI_MCA_hwloc_base_binding_policy": Told("ranks are not bound to cores, which jobs share", _OPEN_MPI),
    "OMPI_MCA_oob_tcp_if_include": Told("the network interface that the tasks' addresses are on", _OPEN_MPI),
    "OMPI_MCA_btl_tcp_if_include": Told("the network interface that ranks talk over", _OPEN_MPI),
    "OMPI_MCA_orte_default_hostfile": Told("the hostfile, for an mpirun without -H", _OPEN_MPI),
    "OMPI_MCA_plm_rsh_agent": Told("how mpirun reaches the other tasks", _OPEN_MPI),
    "OMPI_MCA_mpi_yield_when_idle": Told("a rank that waits lets others work", _OPEN_MPI),
    "OMPI_MCA_pml": Told("the way of sending that Horovod's guide asks for", _OPEN_MPI),
    "OMPI_MCA_btl": Told("what ranks may talk over", _OPEN_MPI),
    "HOROVOD_GLOO_IFACE": Told("the network interface that the tasks' addresses are on", "Horovod"),
}
FILES = {
    "hostfile": "every task with its slots, as mpirun reads it",
    "rsh.json": "where the agents of the tasks listen; who may call them is decided by the attempt's token",
    "rsh.py": "Danlu's agent and its client, which mpirun calls in place of ssh",
    PDSH: "runs a command in several tasks at once through that agent, for launchers that call pdsh",
    FABRIC: "what `colossalai run` calls of Fabric, through that agent",
    "rsh_agent.py": "the part of it that takes commands",
    "rsh_wire.py": "the part of it that carries input, output and signals",
}


class Node(NamedTuple):
    """A task as mpirun knows it."""

    member: Member
    place: TaskPlacement
    name: str
    address: str
    slots: int


def add(job: JobSpec, *, job_id: str, placement: Placement) -> list[Additions]:
    nodes = _nodes(job, job_id, placement)
    common = _common(job, placement, nodes)
    hosts = {name: [node.place.address, node.place.port] for node in nodes for name in (node.address, node.name)}
    return [
        Additions(
            env={
                **plain.environment(job, job_id=job_id, placement=placement, rank=node.member.rank),
                **common,
                **_own(job, node),
            },
            files=_files(job, node, nodes, hosts),
            launcher=_launcher(node),
            prologue=_prologue(job, Layout(node.place.root)),
            spared=DAEMONS,
        )
        for node in nodes
    ]


def _nodes(job: JobSpec, job_id: str, placement: Placement) -> list[Node]:
    """All tasks. Tasks that share an address each get one on loopback, because mpirun must tell them apart."""
    are_own = len({place.address for place in placement.tasks}) == len(placement.tasks)
    return [
        Node(
            member=member,
            place=place,
            name=plain.host_name(job_id, member.index, member.role),
            address=place.address if are_own else f"127.88.{(place.rank + 1) >> 8}.{(place.rank + 1) & 255}",
            slots=0 if job.roles and member.role == LAUNCHER else member.group.resources.device.count,
        )
        for member, place in zip(members(job), placement.tasks, strict=True)
    ]


def _common(job: JobSpec, placement: Placement, nodes: list[Node]) -> dict[str, str]:
    """Variables that are the same in every task."""
    with_slots = [node for node in nodes if node.slots]
    interface = placement.interface
    share_memory = {node.place.node for node in nodes if node.place.root != SANDBOX_ROOT}
    tcp_only = bool(share_memory) and len({node.place.node for node in nodes}) < len(nodes)
    return {
        "NODE_NUM": str(len(with_slots)),
        "GPU_NUM_PER_NODE": str(with_slots[0].slots),
        "GPU_NUM": str(sum(node.slots for node in nodes)),
        "NODE_LIST": ",".join(f"{node.name}:{node.slots}" for node in with_slots),
        "NODE_IP_SLOT_LIST": ",".join(f"{node.address}:{node.slots}" for node in with_slots),
        # the address of rank 0, which PyTorch needs and mpirun does not set
        "MASTER_ADDR": with_slots[0].place.address,
        "MASTER_PORT": str(placement.master_port),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # nodes are shared, so ranks must not be bound to cores
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        **({"OMPI_MCA_oob_tcp_if_include": interface, "OMPI_MCA_btl_tcp_if_include": interface} if interface else {}),
        **_horovod(job, interface),
        # without a sandbox, tasks on one machine would mistake each other's shared memory for their own
        **({"OMPI_MCA_btl": "tcp,self"} if tcp_only else {}),
    }


def _horovod(job: JobSpec, interface: str) -> dict[str, str]:
    """Options of mpirun that Horovod's guide recommends, and the interface for horovodrun."""
    if job.launch is not LaunchMode.HOROVOD:
        return {}
    gloo = {"HOROVOD_GLOO_IFACE": interface} if interface else {}
    return {**gloo, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^openib"}


def _own(job: JobSpec, node: Node) -> dict[str, str]:
    layout = Layout(node.place.root)
    device = node.member.group.resources.device
    return {
        "INDEX": str(node.member.index if job.roles else node.member.rank),
        "DANLU_HOSTFILE": _hostfile(layout),
        "OMPI_MCA_orte_default_hostfile": _hostfile(layout),
        "OMPI_MCA_plm_rsh_agent": f"{_folder(layout)}/bin/{CLIENT}",
        # on CPUs there may be more processes than cores: one that waits must yield
        **({"OMPI_MCA_mpi_yield_when_idle": "1"} if device.type == CPU else {}),
    }


def _files(job: JobSpec, node: Node, nodes: list[Node], hosts: dict[str, list[object]]) -> dict[str, str]:
    layout = Layout(node.place.root)
    config = {
        "token": layout.token,
        "listen": [node.place.address, node.place.port],
        "names": [CLIENT, *NAMES[job.launch]],
    }
    lines = ",\n".join(f"  {json.dumps(host)}: {json.dumps(where)}" for host, where in hosts.items())
    text = (
        f'{json.dumps(config)[:-1]}, "hosts": {{\n{lines}\n}}}}\n'  # one host per line, so that it reads well in a plan
    )
    more = HOSTFILES.get(job.launch, ()) if layout.root == SANDBOX_ROOT else ()
    is_deepspeed, is_colossalai = job.launch is LaunchMode.DEEPSPEED, job.launch is LaunchMode.COLOSSALAI
    return {
        **dict.fromkeys((_hostfile(layout), *more), _host_lines(nodes, has_slots=not is_colossalai)),
        f"{_folder(layout)}/rsh.json": text,
        **{_program(layout, name): _text(name) for name in (*PROGRAMS, *((PDSH,) if is_deepspeed else ()))},
        **({f"{_packages(layout)}/{FABRIC}": _text(FABRIC)} if is_colossalai else {}),
    }


def _host_lines(nodes: list[Node], *, has_slots: bool) -> str:
    """The hostfile. mpirun and DeepSpeed read slots; ColossalAI takes the whole line as a name."""
    lines = [f"{one.address} slots={one.slots}" if has_slots else one.address for one in nodes if one.slots]
    return "".join(f"{line}\n" for line in lines)


def _prologue(job: JobSpec, layout: Layout) -> str:
    if job.launch is not LaunchMode.COLOSSALAI:
        return ""
    return f'export PYTHONPATH={shlex.quote(_packages(layout))}"${{PYTHONPATH:+:$PYTHONPATH}}"'


def _launcher(node: Node) -> tuple[str, ...]:
    program = ("python3", "-I", "-S", _program(Layout(node.place.root), PROGRAMS[0]))
    return (*program, "launch", "--") if node.member.role == LAUNCHER else (*program, "serve")


def _hostfile(layout: Layout) -> str:
    return f"{layout.config}/hostfile"


def _folder(layout: Layout) -> str:
    return f"{layout.config}/rsh"


def _packages(layout: Layout) -> str:
    return f"{_folder(layout)}/python"


def _program(layout: Layout, name: str) -> str:
    """Path of a program, in folders that keep its module name."""
    return f"{_folder(layout)}/danlu/node/mpi/{name}"


@cache
def _text(name: str) -> str:
    """Source of a program, which is part of the plan: an image need not have Danlu installed."""
    text = pkgutil.get_data("danlu.node.mpi", name)
    assert text is not None
    return text.decode()
