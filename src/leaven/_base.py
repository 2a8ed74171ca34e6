"""Former place of :mod:`leaven.base`, from which everything here comes."""

from __future__ import annotations

from leaven.base import TransductionMixin, normalize_rows

__all__ = ["TransductionMixin", "normalize_rows"]
