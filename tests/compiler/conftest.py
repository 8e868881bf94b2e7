"""Kernels of tests are kept in a folder of their own."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory):
    before = os.environ.get("FALLINGCAT_CACHE")
    os.environ["FALLINGCAT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["FALLINGCAT_CACHE"]
    else:
        os.environ["FALLINGCAT_CACHE"] = before
