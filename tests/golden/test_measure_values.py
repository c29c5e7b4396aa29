"""Measures equal naive float64 computations, scipy, and the values that independent implementations gave for these recipes."""

import math

import numpy as np
import pytest
import torch
from scipy import spatial, stats

from interlingua import measures
from interlingua.errors import InterlinguaError, UndefinedError
from interlingua.measures import Preparation, geometry, moments, prepare
from interlingua.measures.anc import anc_from
from interlingua.measures.cka import debiased_cka_from, linear_cka_from
from interlingua.measures.shape import procrustes_from

# Pairs of matrices, by recipe, and what others computed for them: for each measure the implementation is named below.
RECIPES = {
    "A": """rng=np.random.default_rng(0); X=rng.standard_normal((200,16)); W=rng.standard_normal((16,16))
Y=X@W/4+0.5*rng.standard_normal((200,16))""",
    "B": """rng=np.random.default_rng(1); s=(np.arange(1,33)**-1.0); Z=rng.standard_normal((500,32))*s
X=Z+0.1*rng.standard_normal((500,32))+3.0; Y=0.7*Z+0.2*rng.standard_normal((500,32))-2.0
X[:,5]=X[:,5]*30+50; Y[:,5]=Y[:,5]*25+60""",
    "C": """rng=np.random.default_rng(2); X=rng.standard_normal((50,64)); Y=0.6*X+0.8*rng.standard_normal((50,64))""",
    "D": """rng=np.random.default_rng(3); X=rng.standard_normal((300,12)); Y=0.8*X+0.3*rng.standard_normal((300,12))
X[:,4]=1.5; Y[:,7]=0.0""",
    "E": """rng=np.random.default_rng(4); X=rng.standard_normal((1000,64)); Y=rng.standard_normal((1000,64))""",
    "F": """rng=np.random.default_rng(5); X=rng.standard_normal((300,24))*np.linspace(0.2,3,24); Q,_=np.linalg.qr(rng.standard_normal((24,24)))
Y=2.5*X@Q+7.0""",
    "G": """rng=np.random.default_rng(6); Z=rng.standard_normal((400,10)); X=Z@rng.standard_normal((10,20))+0.3*rng.standard_normal((400,20))
Y=Z@rng.standard_normal((10,30))+0.3*rng.standard_normal((400,30))""",
    "H": """rng=np.random.default_rng(7); X=rng.standard_normal((400,10)); sgn=np.where(np.arange(10)%2==0,1.0,-1.0)
Y=X*sgn+0.4*rng.standard_normal((400,10))""",
}
VALUES = {
    "A": {
        "linear_cka": 0.6402845022832646,
        "debiased_cka": 0.6192970103625565,
        "rbf_cka": 0.6546529073669114,
        "cca_mean": 0.7567911020215782,
        "cca_sum_rho2_over_min_d": 0.6388057741935929,
        "svcca": 0.7985398202643332,
        "svcca_kept": [16, 15],
        "pwcca": 0.7631894044482864,
        "pwcca_swapped": 0.8425629286092512,
        "anc": 0.16460528814402386,
        "anc_signed": 0.13540641219333732,
        "anc_undefined": 0,
        "procrustes": 0.775462526872588,
        "rsa": 0.559238849627148,
        "mutual_knn_raw": 0.3265000283718109,
        "matching_forward": 0.01,
        "csls_forward": 0.01,
        "cca_top98": 0.8042902413588215,
        "pwcca_google": 0.766944749178359,
    },
    "B": {
        "linear_cka": 0.15983851831982787,
        "debiased_cka": 0.15793299964832458,
        "rbf_cka": 0.09552664759674634,
        "cca_mean": 0.306931884279198,
        "cca_sum_rho2_over_min_d": 0.15512190314533036,
        "svcca": 0.6431969802736616,
        "svcca_kept": [7, 23],
        "pwcca": 0.3418489813520985,
        "pwcca_swapped": 0.32153694148544454,
        "anc": 0.22200691151021829,
        "anc_signed": 0.22200691151021829,
        "anc_undefined": 0,
        "procrustes": 0.4097631327734894,
        "rsa": 0.23656893011134178,
        "mutual_knn_raw": 0.18860003352165222,
        "matching_forward": 0.002,
        "csls_forward": 0.002,
        "cca_top98": 0.3586165065381466,
        "svcca_top20": 0.3369044363076964,
        "pwcca_google": 0.8556251815248579,
    },
    "C": {
        "linear_cka": 0.7213801957561997,
        "debiased_cka": 0.36420225431705167,
        "rbf_cka": 0.798262207704665,
        "cca_mean": 1.0,
        "cca_sum_rho2_over_min_d": 0.7656249999999998,
        "svcca": 0.9014408463408524,
        "svcca_kept": [42, 42],
        "pwcca": 0.9999999999999998,
        "pwcca_swapped": 0.9999999999999997,
        "anc": 0.6049185784136432,
        "anc_signed": 0.6049185784136432,
        "anc_undefined": 0,
        "procrustes": 0.8756157470508187,
        "rsa": 0.34018626700272275,
        "mutual_knn_raw": 0.3619999587535858,
        "matching_forward": 1.0,
        "csls_forward": 1.0,
        "svcca_top20": 0.6979886734950342,
    },
    "D": {
        "linear_cka": 0.8250096747073635,
        "debiased_cka": 0.8184760741554461,
        "rbf_cka": 0.8221913011799524,
        "cca_mean": 0.8616565425519689,
        "cca_sum_rho2_over_min_d": 0.7372076449051872,
        "svcca": 0.8616565425519689,
        "svcca_kept": [11, 11],
        "pwcca": 0.9066902155318962,
        "pwcca_swapped": 0.9061091056676993,
        "anc": 0.939265000082661,
        "anc_signed": 0.939265000082661,
        "anc_undefined": 2,
        "procrustes": 0.8728849719119385,
        "rsa": 0.7667514555533133,
        "mutual_knn_raw": 0.48233333230018616,
        "matching_forward": 0.7,
        "csls_forward": 0.8466666666666667,
        "cca_top98": 0.9401515970225363,
    },
    "E": {
        "linear_cka": 0.060322701711745766,
        "debiased_cka": 0.0002600404088015329,
        "rbf_cka": 0.09825032578167238,
        "cca_mean": 0.21650649447887332,
        "cca_sum_rho2_over_min_d": 0.06429346764067329,
        "svcca": 0.2149422969412729,
        "svcca_kept": [63, 63],
        "pwcca": 0.21688692619650127,
        "pwcca_swapped": 0.2160028069740937,
        "anc": 0.024286697060711838,
        "anc_signed": -0.003483179994067567,
        "anc_undefined": 0,
        "procrustes": 0.21373429804043986,
        "rsa": -0.0006583359240025462,
        "mutual_knn_raw": 0.009200001135468483,
        "matching_forward": 0.001,
        "csls_forward": 0.001,
        "cca_top98": 0.2474491833093903,
        "svcca_top20": 0.12127962277916124,
        "pwcca_google": 0.21924816782249637,
    },
    "F": {
        "linear_cka": 1.0000000000000002,
        "debiased_cka": 1.0000000000000002,
        "rbf_cka": 0.9999999999999998,
        "cca_mean": 0.9999999999999997,
        "cca_sum_rho2_over_min_d": 0.9999999999999994,
        "svcca": 0.9999999999999998,
        "svcca_kept": [20, 20],
        "pwcca": 0.9999999999999998,
        "pwcca_swapped": 0.9999999999999998,
        "anc": 0.15935340500794895,
        "anc_signed": -0.09692436505218473,
        "anc_undefined": 0,
        "procrustes": 1.0,
        "rsa": 0.9621965859956828,
        "mutual_knn_raw": 0.24300000071525574,
        "matching_forward": 0.0,
        "csls_forward": 0.0,
        "cca_top98": 0.999999998414982,
        "svcca_top20": 0.9999999994832527,
        "pwcca_google": 1.0000000000000027,
    },
    "G": {
        "linear_cka": 0.6096351638436209,
        "debiased_cka": 0.6037132185336789,
        "rbf_cka": 0.6419945074887788,
        "cca_mean": 0.5978739504338736,
        "cca_sum_rho2_over_min_d": 0.5157400886722043,
        "svcca": 0.9915319123850898,
        "svcca_kept": [10, 10],
        "pwcca": 0.9420078555986687,
        "pwcca_swapped": 0.950175234173545,
        "procrustes": 0.8327187981635901,
        "rsa": 0.6318983369233032,
        "mutual_knn_raw": 0.28049999475479126,
        "cca_top98": 0.652187426507544,
        "svcca_top20": 0.5573025090364083,
        "pwcca_google": 0.9322730668597627,
    },
    "H": {
        "linear_cka": 0.8678558741915743,
        "debiased_cka": 0.8646655192529583,
        "rbf_cka": 0.8661889266108954,
        "cca_mean": 0.9293886385777126,
        "cca_sum_rho2_over_min_d": 0.8640665825481472,
        "svcca": 0.9293886385777125,
        "svcca_kept": [10, 10],
        "pwcca": 0.9300495106550843,
        "pwcca_swapped": 0.9300912454224758,
        "anc": 0.929792540156501,
        "anc_signed": -0.001483045821447071,
        "anc_undefined": 0,
        "procrustes": 0.9304686603124761,
        "rsa": 0.7136438746888121,
        "mutual_knn_raw": 0.5164999961853027,
        "matching_forward": 0.0125,
        "csls_forward": 0.0125,
        "cca_top98": 0.9293886384748363,
        "pwcca_google": 0.9300051391424261,
    },
}


def build(name):
    space = {"np": np}
    exec(RECIPES[name], space)
    return space["X"], space["Y"]


def entries(*names):
    return [(case, name) for case, found in VALUES.items() for name in names if name in found]


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
class TestRecorded:
    """Nine implementations agree on linear CKA, three on debiased CKA; the others are exact computations in NumPy."""

    @pytest.mark.parametrize(
        ("case", "name"),
        entries(
            "linear_cka",
            "debiased_cka",
            "cca_mean",
            "svcca",
            "pwcca",
            "anc",
            "anc_signed",
            "procrustes",
            "rsa",
            "rbf_cka",
        ),
    )
    def test_values(self, library, case, name):
        x, y = map(library, build(case))
        tolerance = {"anc": 1e-10, "anc_signed": 1e-10, "linear_cka": 1e-9, "debiased_cka": 1e-9}.get(name, 1e-8)
        assert getattr(measures, name)(x, y).value == pytest.approx(VALUES[case][name], abs=tolerance)

    @pytest.mark.parametrize("case", VALUES)
    def test_the_rest(self, library, case):
        x, y = map(library, build(case))
        expected = VALUES[case]
        widths = min(x.shape[1], y.shape[1])
        found = measures.cca_r2(x, y)
        assert found.value * x.shape[1] / widths == pytest.approx(expected["cca_sum_rho2_over_min_d"], abs=1e-8)
        assert measures.pwcca(y, x).value == pytest.approx(expected["pwcca_swapped"], abs=1e-8)
        both = measures.pwcca_symmetric(x, y).value
        assert both == pytest.approx((expected["pwcca"] + expected["pwcca_swapped"]) / 2, abs=1e-8)
        kept = measures.svcca(x, y)
        assert [kept.rank_x, kept.rank_y] == expected["svcca_kept"]
        raw = measures.mutual_knn(x, y, normalise=False).value
        assert raw == pytest.approx(expected["mutual_knn_raw"], abs=1e-6)
        if "anc" in expected:
            assert measures.anc(x, y).constant == expected["anc_undefined"]
        if x.shape[1] == y.shape[1]:
            assert measures.matching(x, y).forward == expected["matching_forward"]
            assert measures.csls(x, y).forward == expected["csls_forward"]

    @pytest.mark.parametrize(("case", "name"), entries("cca_top98", "svcca_top20", "pwcca_google"))
    def test_published_variants(self, library, case, name):
        """Those codebases add 1e-10 to covariances, which their values show."""
        x, y = map(library, build(case))
        tolerance = 1e-10 if name == "pwcca_google" else 1e-7
        assert getattr(measures, name)(x, y).value == pytest.approx(VALUES[case][name], abs=tolerance)


# -- naive references ------------------------------------------------------------------------------------------------


def naive_debiased(x, y):
    def hsic(k, m):
        n = len(k)
        k, m = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
        return np.trace(k @ m) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 * (k @ m).sum() / (n - 2)

    k, m = x @ x.T, y @ y.T
    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


def naive_cka(x, y):
    def gram(v):
        h = np.eye(len(v)) - 1 / len(v)
        return h @ v @ v.T @ h

    k, m = gram(x), gram(y)
    return (k * m).sum() / math.sqrt((k * k).sum() * (m * m).sum())


def naive_rho(x, y):
    """Canonical correlations by QR, never forming a covariance."""
    qx, qy = (np.linalg.qr(v - v.mean(0))[0] for v in (x, y))
    return np.linalg.svd(qx.T @ qy, compute_uv=False)


def ill_conditioned(condition, seed=0, n=400, p=20):
    rng = np.random.default_rng(seed)
    x, noise = rng.standard_normal((n, p)), rng.standard_normal((n, p))
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    scale = np.geomspace(1, 1 / condition, p)
    return x * scale @ turn, (x @ turn + 0.7 * noise) * scale[::-1] @ turn.T


@pytest.mark.parametrize("condition", [1, 1e2, 1e3, 1e4])
def test_cca_equals_qr_at_any_reasonable_condition(condition):
    x, y = ill_conditioned(condition)
    rho = naive_rho(x, y)
    found = measures.cca_mean(x, y)
    assert found.value == pytest.approx(rho.mean(), abs=1e-9)
    np.testing.assert_allclose(found.rho, rho, atol=1e-9)
    assert measures.cca_r2(x, y).value == pytest.approx((rho**2).mean(), abs=1e-9)
    # Projection weights from the variates themselves.
    a, b = x - x.mean(0), y - y.mean(0)
    (qx, _), (qy, _) = np.linalg.qr(a), np.linalg.qr(b)
    u, s, _ = np.linalg.svd(qx.T @ qy)
    alpha = np.abs((qx @ u).T @ a).sum(1)
    assert measures.pwcca(x, y).value == pytest.approx((alpha * s).sum() / alpha.sum(), abs=1e-9)


def test_beyond_that_the_result_says_so():
    # Directions below a hundred-thousandth of the largest spread do not count (1e-10 of the variance).
    x, y = ill_conditioned(5e4)
    found = measures.cca_mean(x, y)
    assert "condition number" in found.notes[0]
    assert found.value == pytest.approx(naive_rho(x, y).mean(), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_cka_equals_gram_matrices(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((50, 9)) + 5
    y = x[:, :7] @ rng.standard_normal((7, 7)) + rng.standard_normal((50, 7))
    assert measures.linear_cka(x, y).value == pytest.approx(naive_cka(x, y), abs=1e-12)
    # of vectors as they are, Gram matrices lose digits: 1e-12 of the value, on some processors more
    centred = naive_debiased(x - x.mean(0), y - y.mean(0))
    assert measures.debiased_cka(x, y).value == pytest.approx(centred, abs=1e-13)


def test_against_scipy():
    x, y = build("A")
    found = measures.anc(x, y)
    expected = [stats.pearsonr(x[:, i], y[:, i]).statistic for i in range(x.shape[1])]
    np.testing.assert_allclose(found.signed, expected, atol=1e-12)
    np.testing.assert_allclose(found.absolute, np.abs(expected), atol=1e-12)
    distances = [spatial.distance.pdist(v, "correlation") for v in (x, y)]
    assert measures.rsa(x, y).value == pytest.approx(stats.spearmanr(*distances).statistic, abs=1e-12)
    _, _, disparity = spatial.procrustes(x, y)
    assert 1 - measures.procrustes(x, y).value ** 2 == pytest.approx(disparity, abs=1e-12)
    ties = np.round(x, 0), np.round(y, 0)
    distances = [spatial.distance.pdist(v, "correlation") for v in ties]
    assert measures.rsa(*ties).value == pytest.approx(stats.spearmanr(*np.round(distances, 12)).statistic, abs=1e-6)


def naive_retrieval(x, y, score):
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    s = score(a @ b.T)
    ranks = []
    for table in (s, s.T):
        own = np.diag(table)[:, None]
        ranks.append(1 + ((table >= own) & ~np.eye(len(s), dtype=bool)).sum(1))
    return ranks


def scaled(k, how):
    def score(s):
        r = np.sort(s, 1)[:, -k:].mean(1)[:, None], np.sort(s, 0)[-k:].mean(0)[None, :]
        return 2 * s - r[0] - r[1] if how == "csls" else s / ((r[0] + r[1]) / 2)

    return score


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    ("function", "score"),
    [(measures.matching, lambda s: s), (measures.csls, scaled(10, "csls")), (measures.margin, scaled(4, "margin"))],
    ids=["matching", "csls", "margin"],
)
@pytest.mark.parametrize("n", [12, 300, 2100])
@pytest.mark.parametrize("keep", [True, False])
def test_retrieval_equals_a_naive_one(library, function, score, n, keep, monkeypatch):
    if not keep:
        monkeypatch.setattr("interlingua.measures.retrieval.KEEP", 0)
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, 8)) + 2
    y = x + 0.8 * rng.standard_normal((n, 8))
    y[3] = y[4]  # a tie counts against the model
    forward, backward = naive_retrieval(x, y, score)
    found = function(library(x), library(y))
    assert found.forward == (forward == 1).mean()
    assert found.backward == (backward == 1).mean()
    assert found.value == pytest.approx((found.forward + found.backward) / 2)
    assert found.mrr == pytest.approx(((1 / forward).mean() + (1 / backward).mean()) / 2)
    assert found.recall5 == pytest.approx(((forward <= 5).mean() + (backward <= 5).mean()) / 2)
    assert tuple(found.hits.shape) == (2, n)


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize("last", [False, True])
def test_neighbours_may_be_in_any_block(library, last, monkeypatch):
    """All neighbours of everything in the first block, or all in the last; blocks of fewer rows than neighbours."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 8)) + np.geomspace(0.1, 30, 300)[:: 1 if last else -1, None]
    y = x + 0.1 * rng.standard_normal((300, 8))
    forward, backward = naive_retrieval(x, y, scaled(10, "csls"))
    for rows in (7, 16, 1000):
        monkeypatch.setattr("interlingua.measures.retrieval.BLOCK", rows)
        found = measures.csls(library(x), library(y))
        assert (found.forward, found.backward) == ((forward == 1).mean(), (backward == 1).mean())


# -- moments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize("cuts", [[], [1], [30], [7, 8, 90, 150]])
def test_blocks_merge_to_the_whole(library, cuts):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 6)) + np.array([0, 1e4, -300, 2, 0, 1])
    y = x[:, :4] + rng.standard_normal((200, 4))
    parts = [moments.moments(library(a), library(b)) for a, b in zip(np.split(x, cuts), np.split(y, cuts), strict=True)]
    whole = moments.merge(parts)
    a, b = x - x.mean(0), y - y.mean(0)
    sa, sb = (a * a).sum(1), (b * b).sum(1)
    for found, expected in (
        (whole.x.scatter, a.T @ a), (whole.y.scatter, b.T @ b), (whole.joint.cross, a.T @ b), (whole.x.cube, sa @ a),
        (whole.joint.x_weighted, sa @ b), (whole.joint.y_weighted, sb @ a), (whole.x.mean, x.mean(0)),
        (whole.x.fourth, (sa**2).sum()), (whole.joint.norms, (sa * sb).sum()),
    ):  # fmt: skip
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-7)
    assert whole.n == 200
    assert linear_cka_from(whole).value == pytest.approx(measures.linear_cka(x, y).value, abs=1e-12)
    assert debiased_cka_from(whole).value == pytest.approx(naive_debiased(x - x.mean(0), y - y.mean(0)), abs=1e-9)
    assert procrustes_from(whole).value == pytest.approx(measures.procrustes(x, y).value, abs=1e-12)
    assert anc_from(moments.merge([moments.moments(library(x[:, :4]), library(y))])).value == pytest.approx(
        measures.anc(x[:, :4], y).value, abs=1e-12
    )


def test_leaving_one_block_out():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((90, 4)) + 50, rng.standard_normal((90, 4))
    blocks = [slice(i, i + 10) for i in range(0, 90, 10)]
    parts = [moments.moments(x[b], y[b]) for b in blocks]
    for block, found in zip(blocks, moments.leave_one_out(parts), strict=True):
        rest = np.r_[0 : block.start, block.stop : 90]
        assert found.n == 80
        assert linear_cka_from(found).value == pytest.approx(measures.linear_cka(x[rest], y[rest]).value, abs=1e-12)
    with pytest.raises(ValueError, match="at least two blocks"):
        next(moments.leave_one_out(parts[:1]))


# -- hard inputs -----------------------------------------------------------------------------------------------------


def hard(name):
    rng = np.random.default_rng(9)
    x = rng.standard_normal((120, 8))
    y = 0.8 * x + 0.6 * rng.standard_normal((120, 8))
    if name == "fewer rows than neurons":
        return x[:6], y[:6]
    if name == "rank-deficient":
        return x @ np.diag([1.0, 1, 1, 0, 0, 0, 0, 0]) @ np.linalg.qr(rng.standard_normal((8, 8)))[0], y
    if name == "duplicated neurons":
        return np.hstack([x, x]), np.hstack([y, y])
    if name == "a constant neuron":
        x[:, 2] = 0.1
        return x, y
    if name == "one neuron with a huge mean":
        x[:, 0] += 1e4
        return x, y
    if name == "half precision":
        return x.astype(np.float16), y.astype(np.float16)
    if name == "whole numbers":
        return np.round(3 * x).astype(int), np.round(3 * y).astype(int)
    if name == "two rows":
        return x[:2], y[:2]
    if name == "three rows":
        return x[:3], y[:3]
    if name == "identical":
        return x, x
    if name == "all constant":
        return np.ones_like(x), y
    if name == "not a number":
        x[3, 3] = np.nan
        return x, y
    if name == "tiny numbers":
        return x * 1e-60, y * 1e-60
    if name == "huge numbers":
        return x * 1e70, y * 1e70
    assert name == "unlike rows"
    return x, y[:-1]


FEW, SAME, NONE, NAN, ROWS = (
    "too few",
    "fine",
    "change|nothing|constant|alike|same value|nowhere",
    "not finite",
    "x has 120 rows and y has 119",
)
# What each input does to each measure: a value, or an error that says this.
OUTCOMES = {
    "fewer rows than neurons": {"mutual_knn": "no 10 nearest", "csls": "no 10 nearest"},
    "rank-deficient": {},
    "duplicated neurons": {},
    "a constant neuron": {},
    "one neuron with a huge mean": {},
    "half precision": {},
    "whole numbers": {},
    "two rows": {"debiased_cka": FEW, "rsa": FEW, "mutual_knn": "no 10 nearest", "csls": "no 10 nearest", "margin": "no 4 nearest"},
    "three rows": {"debiased_cka": FEW, "mutual_knn": "no 10 nearest", "csls": "no 10 nearest", "margin": "no 4 nearest"},
    "identical": {},
    "all constant": dict.fromkeys(("anc", "linear_cka", "debiased_cka", "rbf_cka", "cca_mean", "cca_r2", "svcca", "pwcca", "pwcca_symmetric", "procrustes", "rsa", "mutual_knn"), NONE),
    "not a number": {m.name: NAN for m in measures.CATALOG},
    "tiny numbers": {},
    "huge numbers": {},
    "unlike rows": {m.name: ROWS for m in measures.CATALOG},
}  # fmt: skip
DEFAULT = [m.name for m in measures.CATALOG[:15]]


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize("name", DEFAULT)
@pytest.mark.parametrize("case", OUTCOMES)
def test_hard_inputs(library, case, name):
    x, y = map(library, hard(case))
    expected = OUTCOMES[case].get(name)
    if name == "margin" and expected is None:
        # Centred data point everywhere: a neighbourhood may average to nothing.
        x, y = x + 3 * abs(x).max(), y + 3 * abs(y).max()
    if expected is None:
        found = getattr(measures, name)(x, y)
        low, high = measures.find(name).bounds
        assert low <= found.value <= high
        assert isinstance(found.value, float)
        if case == "identical" and measures.find(name).like_itself:
            assert found.value == pytest.approx(1, abs=1e-9)
    else:
        with pytest.raises(ValueError, match=expected):
            getattr(measures, name)(x, y)


def test_huge_means_lose_nothing():
    """Some models have neurons whose mean is hundreds of times their spread."""
    x, y = build("A")
    offset = np.zeros(16)
    offset[3] = 1e4
    for m in measures.CATALOG[:12]:
        if "translation" in m.invariances:
            assert m.function(x + offset, y - offset).value == pytest.approx(m.function(x, y).value, abs=1e-7)


def test_constant_neurons_are_left_out_and_counted():
    x, y = build("D")
    x[:, 4] = 0.1  # whose mean does not come out exactly
    found = measures.anc(x, y)
    assert found.constant == 2
    assert np.isnan(found.signed[[4, 7]]).all()
    keep = [i for i in range(12) if i not in (4, 7)]
    assert found.value == pytest.approx(measures.anc(x[:, keep], y[:, keep]).value, abs=1e-12)
    assert found.notes == ("2 of 12 neurons are constant and left out",)


def test_cca_says_when_rows_are_too_few():
    rng = np.random.default_rng(0)
    few = measures.cca_mean(rng.standard_normal((99, 10)), rng.standard_normal((99, 10)))
    assert few.notes == ("99 rows for 10 + 10 neurons: CCA is not interpretable below 100",)
    assert measures.cca_mean(rng.standard_normal((100, 10)), rng.standard_normal((100, 10))).notes == ()
    noise = measures.cca_mean(rng.standard_normal((400, 256)), rng.standard_normal((400, 256)))
    assert noise.value > 0.7
    assert noise.notes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: measures.anc(x, torch.asarray(x)), "cannot be mixed"),
        (lambda x: measures.anc(x[0], x[0]), "has 1 dimensions"),
        (lambda x: measures.anc(x[:, :0], x[:, :0]), "has no neurons"),
        (lambda x: measures.anc(x.astype(str), x), "not real numbers"),
        (lambda x: measures.anc(x, x, dtype="float16"), "float64 or float32, not 'float16'"),
        (lambda x: measures.svcca(x, x, variance=1.5), "above 0 and at most 1"),
        (lambda x: measures.svcca(x, x, directions=0), "0 directions are none"),
        (lambda x: measures.rbf_cka(x, x, bandwidth=0), "a bandwidth is above 0"),
        (lambda x: measures.matching(np.vstack([x, 0 * x[:1]]), np.vstack([x, x[:1]])), "1 rows of zeros"),
        (lambda x: measures.margin(x + 10, -x - 10), "margin is undefined"),
        (lambda x: measures.pwcca_google(x[:5], x[:5]), "takes more rows than neurons"),
    ],
)
def test_mistakes_are_told(call, message):
    with pytest.raises(ValueError, match=message):
        call(build("A")[0])


# -- geometry and preparation ------------------------------------------------------------------------------------------


def test_geometry_equals_naive_computations():
    x, y = build("B")
    a = x / np.linalg.norm(x, axis=1, keepdims=True)
    s = a @ a.T
    assert geometry.average_cosine(x) == pytest.approx(s[~np.eye(500, dtype=bool)].mean(), abs=1e-12)
    assert geometry.outlier_neurons(x).neurons == (5,)
    assert geometry.outlier_neurons(torch.asarray(x)).neurons == (5,)
    values = np.linalg.eigvalsh(np.cov(x.T))
    shares = values / values.sum()
    assert geometry.effective_rank(x) == pytest.approx(math.exp(-(shares * np.log(shares)).sum()), abs=1e-9)
    both = np.vstack([x, y])
    between = 500 * sum(((v.mean(0) - both.mean(0)) ** 2).sum() for v in (x, y))
    assert geometry.language_share({"en": x, "fr": y}) == pytest.approx(
        between / ((both - both.mean(0)) ** 2).sum(), abs=1e-12
    )
    b = y / np.linalg.norm(y, axis=1, keepdims=True)
    counts = np.bincount(np.argsort(-(a @ b.T), axis=1)[:, :10].ravel(), minlength=500)
    assert geometry.hubness(x, y) == pytest.approx(stats.skew(counts), abs=1e-9)
    assert geometry.hubness(torch.asarray(x), torch.asarray(y)) == pytest.approx(stats.skew(counts), abs=1e-9)


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_preparation(library):
    x, y = build("B")
    ready = prepare.Preparation(
        without_neurons=prepare.outliers_of(x, y), remove_mean=True, drop_components=2, standardise=True
    )
    found = np.asarray(ready(library(x)))
    kept = np.delete(x, 5, axis=1)
    kept = kept - kept.mean(0)
    _, _, vt = np.linalg.svd(kept, full_matrices=False)
    kept = kept - kept @ vt[:2].T @ vt[:2]
    np.testing.assert_allclose(found, (kept - kept.mean(0)) / kept.std(0), atol=1e-8)
    assert ready.signature()["without_neurons"] == [5]
    with pytest.raises(ValueError, match="there is no neuron 99"):
        prepare.Preparation(without_neurons=(99,))(x)
    with pytest.raises(ValueError, match="no neuron is left"):
        prepare.Preparation(without_neurons=tuple(range(32)))(x)


# -- what was once wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    "name", ["anc", "linear_cka", "debiased_cka", "rbf_cka", "cca_mean", "svcca", "pwcca", "procrustes", "pwcca_google"]
)
def test_a_constant_side_has_no_value_even_where_its_mean_rounds(library, name):
    x, y = library(np.full((50, 6), 0.1)), library(np.random.default_rng(0).standard_normal((50, 6)))
    for pair in ((x, y), (y, x), (x, library(np.full((50, 6), 0.3)))):
        with pytest.raises(UndefinedError):
            getattr(measures, name)(*pair)


@pytest.mark.parametrize("library", [np.asarray, torch.asarray], ids=["numpy", "torch"])
def test_preparation_leaves_constant_neurons_constant(library):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 6))
    y = x + rng.standard_normal((80, 6))
    x[:, 3], y[:, 3] = 0.1, 0.7
    for step in (
        Preparation(drop_components=1),
        Preparation(standardise=True),
        Preparation(remove_mean=True, drop_components=2, standardise=True),
    ):
        found = measures.anc(step(library(x)), step(library(y)))
        assert found.constant == 1
        assert math.isnan(float(found.signed[3]))


def test_preparation_refuses_what_leaves_nothing():
    x = np.random.default_rng(0).standard_normal((80, 3)) @ np.random.default_rng(1).standard_normal((3, 6))
    with pytest.raises(UndefinedError, match="vectors have 3 directions: without the top 3 nothing is left"):
        Preparation(drop_components=3)(x)
    for options in ({"drop_components": -1}, {"drop_components": 1.5}, {"without_neurons": (1.5,)}):
        with pytest.raises(ValueError, match="cannot be dropped|no numbers of neurons"):
            Preparation(**options)
    assert Preparation(without_neurons=(0, 2)).kept(4) == [1, 3]


def test_matching_of_float32_vectors_far_from_zero():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 64))
    y = x + 0.3 * rng.standard_normal((300, 64))
    far = [(v + 1000).astype(np.float32) for v in (x, y)]
    for function in (measures.matching, measures.csls, measures.margin):
        assert function(*far).value == function(*(v.astype(np.float64) for v in far)).value > 0.99
    assert measures.matching(*far, dtype="float32").value < 0.1


def test_equal_distances_share_a_rank():
    x = np.random.default_rng(0).standard_normal((60, 2))
    assert measures.rsa(x, x * 7.3 + 0.11).value == pytest.approx(1)
    bits = (np.random.default_rng(1).random((60, 8)) > 0.5).astype(float) + np.arange(8)
    assert measures.rsa(bits, bits * 3.7).value == pytest.approx(1)


def test_google_pwcca_behind_a_layer_norm():
    """Neurons whose sum is constant: google/svcca's code, through ecco 0.1.2, gave 0.852512 and 0.855128."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 40)) @ rng.standard_normal((40, 40))
    y = x + 3 * rng.standard_normal((2000, 40))
    x, y = ((v - v.mean(1, keepdims=True)) / v.std(1, keepdims=True) for v in (x, y))
    x, y = (v + rng.standard_normal(40) * 0.3 for v in (x, y))
    assert measures.pwcca_google(x, y).value == pytest.approx(0.852512, abs=3e-5)
    x[:, 3] = 0.1
    assert measures.pwcca_google(x, y).value == pytest.approx(0.855128, abs=3e-5)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1, 2], [3]], "no matrix of numbers"),
        (torch.ones(5, 2, dtype=torch.complex64), "not real numbers"),
        (np.full((5, 2), 1e200) * [[1], [2], [3], [4], [5]], "too large to be squared"),
        ([["a", "b"]] * 5, "not real numbers"),
        (np.zeros((0, 3)), "rows|no rows"),
    ],
)
def test_what_is_no_matrix_is_told(x, message):
    with pytest.raises(InterlinguaError, match=message):
        measures.linear_cka(x, x)


def test_numpy_and_lists_go_together_and_torch_does_not():
    x = np.random.default_rng(0).standard_normal((20, 3))
    assert measures.linear_cka(x.tolist(), x).value == pytest.approx(1)
    with pytest.raises(InterlinguaError, match="cannot be mixed"):
        measures.linear_cka(x.tolist(), torch.asarray(x))
