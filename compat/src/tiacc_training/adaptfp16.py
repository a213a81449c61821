"""Where some scripts find the policy class."""

from tiacc_training.torch.adaptfp16 import MixedPrecision_TrainingPolicy

__all__ = ["MixedPrecision_TrainingPolicy"]
