"""`init_tiacc_training()`: DDP models of an unchanged script exchange their gradients through Danlu."""

from tiacc_training.torch.distributed.patch import init_tiacc_training, shutdown_tiacc_training

__all__ = ["init_tiacc_training", "shutdown_tiacc_training"]
