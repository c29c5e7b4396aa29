"""A name becomes a loaded model with a layer map."""

from interlingua.models.load import Model, PerLanguage, load_model

__all__ = ["Model", "PerLanguage", "load_model"]
