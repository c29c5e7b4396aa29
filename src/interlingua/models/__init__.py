"""A name becomes a loaded model with a layer map. Importing this makes `transformers` know our own architecture."""

from contextlib import suppress

from interlingua.models.load import Model, PerLanguage, load_model, random_others

__all__ = ["Model", "PerLanguage", "load_model", "random_others"]

# Without `transformers` no model is loaded anyway, and `load_model` says what to install.
with suppress(ImportError):
    from interlingua.models.architecture import register

    register()
