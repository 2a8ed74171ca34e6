"""The report of a labeled table: data in, one HTML file out."""

from __future__ import annotations

from leaven.report._page import render_report

__all__ = ["render_report"]
