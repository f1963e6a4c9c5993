"""Covariance blocks of which a few at a time change: what did not is shared, and nothing is written to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from argbest.core.arrays import Array

Changed = tuple[Array, Sequence[tuple[Array, Array]]]  # a block S less vwᵀ of every (v, w), in this order


@dataclass(frozen=True, eq=False)
class Blocks:
    """One block per alternative: that of the table, or what has taken its place."""

    table: Array  # [alternative, context, context]
    changed: Mapping[int, Changed] = field(default_factory=dict)

    def of(self, k: int) -> Array:
        """Return one block."""
        own: Array
        own, less = self.changed.get(k, (self.table[k], ()))
        for scaled, column in less:
            own = own - scaled[:, None] * column
        return own

    def with_(self, changed: Mapping[int, Changed]) -> "Blocks":
        """Return the blocks with some more changed."""
        return Blocks(self.table, {**self.changed, **changed})

    def together(self) -> Array:
        """Return all of them, [alternative, context, context]."""
        table = self.table.copy()
        for k in self.changed:
            table[k] = self.of(k)
        return table
