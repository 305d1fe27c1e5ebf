"""One explorer for all tests of a module, which names its class as `KIND`; reset before each."""

import pytest


@pytest.fixture(scope="module")
def shared(request):
    return request.module.KIND()


@pytest.fixture
def explorer(shared):
    shared.reset()
    return shared
