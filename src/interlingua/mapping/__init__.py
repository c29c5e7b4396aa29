"""Two spaces become one: normalise each on its own, then map one onto the other."""

from interlingua.mapping.alignment import Alignment, fit_alignment, open_alignment, save_alignment
from interlingua.mapping.maps import LinearMap, fit_least_squares, fit_mean_shift, fit_procrustes, fit_ridge
from interlingua.mapping.normalise import Normalisation, fit_normalisation

__all__ = [
    "Alignment",
    "LinearMap",
    "Normalisation",
    "fit_alignment",
    "fit_least_squares",
    "fit_mean_shift",
    "fit_normalisation",
    "fit_procrustes",
    "fit_ridge",
    "open_alignment",
    "save_alignment",
]
