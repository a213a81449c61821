"""The engines of a server: what the jobs of one see of another. Plugins add engines, as they do in an installation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fakes.engine import FakeEngine

from danlu.engines.base import EngineSettings
from danlu.errors import InvalidInput
from danlu.server.main import make_engines
from danlu.server.settings import ServerSettings

KEYS = Path("/srv/keys")


class Plain(FakeEngine):
    name = "plain"
    hidden: Sequence[Path] = ()

    @classmethod
    def create(cls, settings: EngineSettings) -> Plain:
        made = cls([])
        made.hidden = settings.hide
        return made


class WithKeys(Plain):
    name = "with-keys"

    def private_paths(self) -> Sequence[Path]:
        return [KEYS / self.name]


class AlsoWithKeys(WithKeys):
    name = "also-with-keys"


class Remote(WithKeys):
    name = "remote"
    is_remote = True


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plugins" / "more_engines-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: more-engines\nVersion: 1.0\n")
    lines = [f"{kind.name} = {__name__}:{kind.__name__}" for kind in (Plain, WithKeys, AlsoWithKeys, Remote)]
    (folder / "entry_points.txt").write_text("\n".join(["[danlu.engines]", *lines, ""]))
    monkeypatch.syspath_prepend(folder.parent)


def hidden(tmp_path: Path, engines: str) -> dict[str, Sequence[Path]]:
    """What each engine hides beside the data folder."""
    settings = ServerSettings(data_dir=tmp_path, engine=engines, public_url="http://danlu.example")
    made = make_engines(settings, settings.for_engine("id"))
    return {name: engine.hidden[1:] for name, engine in made.items() if isinstance(engine, Plain)}


def test_remote_engines_come_first_whatever_their_place(tmp_path: Path) -> None:
    assert hidden(tmp_path, "plain,remote") == {"plain": (KEYS / "remote",), "remote": ()}


def test_an_engine_of_this_machine_hides_what_those_before_it_have(tmp_path: Path) -> None:
    assert hidden(tmp_path, "with-keys,plain") == {"with-keys": (), "plain": (KEYS / "with-keys",)}


@pytest.mark.parametrize("engines", ["plain,with-keys", "with-keys,also-with-keys", "plain,remote,with-keys"])
def test_an_engine_whose_keys_jobs_of_another_would_see_is_refused(tmp_path: Path, engines: str) -> None:
    first, *_, last = engines.split(",")
    with pytest.raises(InvalidInput, match=f"engine: jobs of '{first}' would see private files of '{last}'"):
        hidden(tmp_path, engines)
