"""An import path that some scripts use for the policy class."""

from tiacc_training.torch.adaptfp16 import MixedPrecision_TrainingPolicy

__all__ = ["MixedPrecision_TrainingPolicy"]
