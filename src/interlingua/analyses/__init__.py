"""Where stages meet, one file a verb."""

from interlingua.analyses.compare import compare, compare_layers
from interlingua.analyses.comparison import Comparison
from interlingua.analyses.enough import enough, planted
from interlingua.analyses.leave_out import leave_out_shared

__all__ = ["Comparison", "compare", "compare_layers", "enough", "leave_out_shared", "planted"]
