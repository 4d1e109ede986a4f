"""A PyTorch function as the sampler needs it: one float64 vector in, log density and autograd's gradient out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grhmc.models.tree_names import Leaf

OfTensors = Callable[[list[Any]], Any]


def make_value_and_gradient(
    log_density: OfTensors, leaves: Sequence[Leaf], devices: Sequence[Any]
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Turn a function of tensors, one per leaf, into ``f(q) -> (log density, gradient)`` of NumPy."""
    import torch

    bounds = np.cumsum([0, *(leaf.size for leaf in leaves)])
    pieces = list(zip(leaves, bounds[:-1], bounds[1:], devices, strict=True))

    def evaluate(q: np.ndarray) -> tuple[float, np.ndarray]:
        # The caller's thread may have gradients switched off.
        with torch.inference_mode(False), torch.enable_grad():
            whole = torch.from_numpy(q)
            parts = [
                whole[first:last].view(leaf.shape).to(device).requires_grad_() for leaf, first, last, device in pieces
            ]
            value = log_density(parts)
            _check_result(torch, value)
            slopes = torch.autograd.grad(value, parts, allow_unused=True)
        gradient = np.zeros(q.size)
        for (_, first, last, _), slope in zip(pieces, slopes, strict=True):
            if slope is not None:  # else this branch of the function does not use it
                gradient[first:last] = slope.reshape(-1).numpy(force=True)
        return value.item(), gradient

    return evaluate


def check_at_example(log_density: OfTensors, leaves: Sequence[Leaf], example: Sequence[Any]) -> None:
    """Evaluate once, and look at how the result came about.

    Raises
    ------
    TypeError
        If the result is no float64 scalar, or something on the way was rounded to single precision.
    ValueError
        If it is detached from the parameters, or does not depend on one of them.
    """
    import torch

    with torch.inference_mode(False), torch.enable_grad():
        parts = [tensor.clone().requires_grad_() for tensor in example]
        value = log_density(parts)
        _check_result(torch, value)
        rounded: list[str] = []
        _watch_precision(torch, value.grad_fn, rounded)
        slopes = torch.autograd.grad(value, parts, allow_unused=True)
    unused = [leaf.name for leaf, slope in zip(leaves, slopes, strict=True) if slope is None and leaf.size > 0]
    if unused:
        raise ValueError(
            f"the log density does not depend on {', '.join(unused)}; is something detached on the way (detach(), "
            "item(), numpy(), torch.tensor(), no_grad())? Leave out parameters that are not used"
        )
    if rounded:
        raise TypeError(
            f"logp computes with {rounded[0]} on the way to the log density, which would make the gradient too rough "
            "to follow. It gets float64 parameters: remove float(), half() and dtypes, make constants float64 tensors, "
            "and give float64 tensors to torch.distributions (HalfCauchy(5.0), for one, rounds to single precision)"
        )


def _check_result(torch: Any, value: Any) -> None:
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"logp must return a tensor without axes, but it returned {type(value).__name__}: {value!r:.100}"
        )
    if value.ndim != 0:
        raise TypeError(f"logp must return a tensor without axes, but it returned shape {tuple(value.shape)}; sum it")
    if value.dtype != torch.float64:
        raise TypeError(
            f"logp must return a float64 log density, but it returned {value.dtype}; it gets float64 parameters, so "
            "something in it converts to another type: remove float(), half() and dtypes"
        )
    if not value.requires_grad:
        raise ValueError(
            "the log density that logp returned does not depend on the parameters as far as autograd knows; is it "
            "detached on the way (detach(), item(), numpy(), torch.tensor(), no_grad())?"
        )


def _watch_precision(torch: Any, node: Any, rounded: list[str]) -> None:
    """Let every step of the graph report, when autograd passes it, a slope of lower precision: that of its result."""
    low = (torch.float32, torch.float16, torch.bfloat16)

    def report(slopes: Sequence[Any]) -> None:
        rounded.extend(str(slope.dtype) for slope in slopes if slope is not None and slope.dtype in low)

    seen, waiting = set(), [node]
    while waiting:
        step = waiting.pop()
        if step is None or step in seen:
            continue
        seen.add(step)
        step.register_prehook(report)
        waiting.extend(following for following, _ in step.next_functions)
