"""Pairs of arrays -> results: pure functions on NumPy arrays and PyTorch tensors, on the device they are on."""

from interlingua.measures.anc import anc
from interlingua.measures.catalog import CATALOG, Measure, find
from interlingua.measures.cca import cca_mean, cca_r2, pwcca, pwcca_symmetric, svcca
from interlingua.measures.cka import debiased_cka, linear_cka, rbf_cka
from interlingua.measures.papers import PAPERS, Paper
from interlingua.measures.prepare import Preparation, outliers_of
from interlingua.measures.published import anc_signed, cca_top98, pwcca_google, svcca_top20
from interlingua.measures.results import CanonicalSimilarity, NeuronSimilarity, Retrieval, Similarity
from interlingua.measures.retrieval import csls, margin, matching
from interlingua.measures.shape import mutual_knn, procrustes, rsa

__all__ = [
    "CATALOG",
    "PAPERS",
    "CanonicalSimilarity",
    "Measure",
    "NeuronSimilarity",
    "Paper",
    "Preparation",
    "Retrieval",
    "Similarity",
    "anc",
    "anc_signed",
    "cca_mean",
    "cca_r2",
    "cca_top98",
    "csls",
    "debiased_cka",
    "find",
    "linear_cka",
    "margin",
    "matching",
    "mutual_knn",
    "outliers_of",
    "procrustes",
    "pwcca",
    "pwcca_google",
    "pwcca_symmetric",
    "rbf_cka",
    "rsa",
    "svcca",
    "svcca_top20",
]
