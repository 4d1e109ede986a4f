"""Variables of a result are in the model's order, in memory and on disk."""

import pytest

import grhmc
import short_runs

pytest.importorskip("zarr")

NAMES = {"zeta": (), "alpha": 2}


@pytest.mark.parametrize("save_warmup", [False, True])
def test_variables_on_disk_are_in_the_models_order(tmp_path, save_warmup):
    model = grhmc.from_numba(short_runs.normals, 3, NAMES, data=(short_runs.SD,))
    result = short_runs.sample(model, store=tmp_path / "run.zarr", save_warmup=save_warmup)
    again = grhmc.resume(tmp_path / "run.zarr", model)
    in_memory = short_runs.sample(model, save_warmup=save_warmup)
    for group in ("posterior", "warmup_posterior") if save_warmup else ("posterior",):
        assert list(result[group].data_vars) == list(again[group].data_vars) == list(in_memory[group].data_vars)
        assert list(result[group].data_vars) == ["zeta", "alpha"]
    labels = ["zeta", "alpha[0]", "alpha[1]"]
    assert list(grhmc.summary(result).index) == list(grhmc.summary(again).index) == labels
