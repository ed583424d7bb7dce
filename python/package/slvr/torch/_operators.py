"""All operators: importing this fills the table."""

from . import _numbers, _products, _shapes, _sums, _windows
from ._products import mask
from ._table import known, write

__all__ = ["_numbers", "_products", "_shapes", "_sums", "_windows", "known", "mask", "write"]
