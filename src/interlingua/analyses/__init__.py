"""Where stages meet, one file a verb."""

from interlingua.analyses.compare import Comparison, compare, compare_layers

__all__ = ["Comparison", "compare", "compare_layers"]
