from __future__ import annotations

import pytest

from danlu.engines.base import Engine
from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.testing.engine_contract import EngineContract


class TestLocalEngine(EngineContract):
    @pytest.fixture
    def engine(self, engine: LocalEngine) -> Engine:
        return engine

    @pytest.fixture(autouse=True)
    def _remember(self, settings: EngineSettings) -> None:
        self._settings = settings

    def reopen(self, engine: Engine) -> Engine:
        return LocalEngine(self._settings)
