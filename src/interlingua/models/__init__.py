"""A name becomes a loaded model with a layer map."""

from interlingua.models.load import Model, PerLanguage, load_model, random_others

__all__ = ["Model", "PerLanguage", "load_model", "random_others"]
