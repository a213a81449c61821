"""`python -m tiacc_training.torch.distributed.launch`: torchrun under its old name."""

from torch.distributed.run import main

if __name__ == "__main__":
    main()
