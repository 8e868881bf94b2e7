"""Experiments of the library's own and of [ETH], [Mishra], [Traversaro] as kinds of study."""
