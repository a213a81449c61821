"""Gradient exchange between machines for PyTorch's DDP: fewer bytes over the slow link, the same gradients.

from danlu_accel import comm

model = DistributedDataParallel(net)
exchange = comm.attach(model)
...
print(exchange.explain())
"""

from danlu_accel.comm.all_reduce import AllReduce, Sum
from danlu_accel.comm.attach import attach
from danlu_accel.comm.attachment import Attachment
from danlu_accel.comm.errors import AlreadyAttachedError, CommError, PeerLostError, SharedMemoryError, TopologyError
from danlu_accel.comm.hook import hook
from danlu_accel.comm.launcher import Launch, read_launch, rendezvous_variables
from danlu_accel.comm.replicas import Replicas, attach_replicas
from danlu_accel.comm.settings import Algorithm, Options, Settings, WireFormat
from danlu_accel.comm.stats import StepStats
from danlu_accel.comm.topology import Topology

__all__ = [
    "Algorithm",
    "AllReduce",
    "AlreadyAttachedError",
    "Attachment",
    "CommError",
    "Launch",
    "Options",
    "PeerLostError",
    "Replicas",
    "Settings",
    "SharedMemoryError",
    "StepStats",
    "Sum",
    "Topology",
    "TopologyError",
    "WireFormat",
    "attach",
    "attach_replicas",
    "hook",
    "read_launch",
    "rendezvous_variables",
]
