"""JAX's arrays, single or with batch axes in front."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..kindyn import KinDyn

__all__ = ["KinDynComputations"]


class KinDynComputations(KinDyn):
    """JAX arrays in and out; works under ``jit``, ``vmap`` and ``grad``."""

    def _call(self, function: Any, *given: Any, **more: Any) -> Any:
        arrays = {str(i): jnp.asarray(x) for i, x in enumerate(given)} | {k: jnp.asarray(x) for k, x in more.items()}
        batched = {key: 0 if x.ndim > (2 if key == "0" else 1) else None for key, x in arrays.items()}

        def one(arrays: dict[str, Any]) -> Any:
            positional = [arrays[str(i)] for i in range(len(given))]
            return super(KinDynComputations, self)._call(function, *positional, **{k: arrays[k] for k in more})

        return jax.vmap(one, (batched,))(arrays) if 0 in batched.values() else one(arrays)

    def _array(self, x: Any) -> Any:
        return jnp.asarray(x)
