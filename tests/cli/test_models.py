"""`danlu models` and `danlu flow`, as a person types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from danlu.client import Client

if TYPE_CHECKING:
    from tests.cli.conftest import Said

    Danlu = Callable[..., Said]


@pytest.fixture
def uploaded(client: Client, alone: Path) -> str:
    (alone / "weights.pt").write_text("w")
    client.store.upload(alone / "weights.pt", "main/cli-models/")
    return "store://main/cli-models/"


class TestModels:
    def test_from_registering_to_deleting(self, danlu: Danlu, uploaded: str, alone: Path) -> None:
        first = danlu("models", "register", "cli-digits", "--path", uploaded, "-f", "onnx", "-m", "val/acc=0.5")
        assert first.code == 0, first.err
        assert first.out.startswith("cli-digits:1  in default  mv-")
        options = ("--no-copy", "-m", "val/acc=0.75", "-e", "A=b", "--image", "torch:2", "-a", "champion")
        made = json.loads(danlu("models", "register", "cli-digits", "--path", uploaded, *options, "--json").out)
        assert (made["version"], made["environment"]) == (2, {"image": "torch:2", "command": None, "env": {"A": "b"}})

        assert "champion=2" in danlu("models", "list", "cli-dig").out
        versions = danlu("models", "versions", "cli-digits").out.splitlines()
        assert [line.split()[0] for line in versions] == ["VERSION", "cli-digits:2", "cli-digits:1"]
        compared = danlu("models", "compare", "cli-digits", "1", "champion").out
        assert ["val/acc", "0.5", "0.75"] in [line.split() for line in compared.splitlines()]
        assert "num_files" not in compared
        assert "num_files" in danlu("models", "compare", "cli-digits", "1", "2", "--all").out

        danlu("models", "alias", "cli-digits:1", "champion")
        assert "aliases    champion" in danlu("models", "show", "cli-digits:champion").out
        danlu("models", "tag", "cli-digits:1", "stage=trial", "seen=yes")
        assert "tags       seen=yes" in danlu("models", "tag", "cli-digits:1", "stage=").out
        assert "about      Digits" in danlu("models", "tag", "cli-digits", "-d", "Digits").out
        assert danlu("models", "download", "default/cli-digits:2", "out").out == "1 file in out\n"
        assert (alone / "out" / "weights.pt").read_text() == "w"

        assert danlu("models", "alias", "cli-digits", "champion", "--remove").code == 0
        refused = danlu("models", "delete", "cli-digits:2", "--files")
        assert (refused.code, "has no files of its own" in refused.err) == (1, True)
        assert "its files stay" in danlu("models", "delete", "cli-digits:2").out
        assert "1 files were deleted" in danlu("models", "delete", "cli-digits", "--files", "--yes").out
        assert danlu("models", "show", "cli-digits").code == 1

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("register", "cli-x"), "give one of job, artifact or path; given: none"),
            (("register", "cli-x:3", "--path", "main/a/"), "the server assigns the number; leave it out"),
            (("register", "two words", "--path", "main/a/"), "expected a model name of up to 100 letters"),
            (
                ("register", "cli-x", "--path", "main/nothing-there/"),
                "nothing is stored at store://main/nothing-there/",
            ),
            (("register", "cli-x", "--path", "main/a/", "-m", "acc=good"), "expected a number, got 'good'"),
            (("register", "cli-x", "--path", "main/a/", "-e", "A"), "--env: expected NAME=VALUE, got 'A'"),
            (("show", "nothing"), "no model 'nothing'; `danlu models list` shows yours"),
            (("show", "nothing:?"), "expected a number, latest or an alias as version, such as nothing:3"),
            (("compare", "nothing", "1"), "no model 'nothing'"),
        ],
    )
    def test_what_is_wrong_is_said(self, danlu: Danlu, words: tuple[str, ...], told: str) -> None:
        said = danlu("models", *words)
        assert said.code in (1, 2)
        assert told in said.err


class TestFlow:
    def test_tree_and_json(self, danlu: Danlu, client: Client, alone: Path) -> None:
        (alone / "weights.pt").write_text("w")
        client.store.upload(alone / "weights.pt", "main/cli-flow-files/")
        made = client.models.register("cli-flow", path="store://main/cli-flow-files/")
        assert danlu("flow", made.id).out.splitlines() == [
            f"model     cli-flow:1  {made.id}",
            "└─ upstream",
            "   └─ store     store://main/cli-flow-files/  (registered)",
        ]
        found = json.loads(danlu("flow", "store://main/cli-flow-files", "--down", "--json").out)
        assert (found["is_whole"], found["direction"], len(found["edges"])) == (True, "down", 1)
        assert json.loads(danlu("flow", "store://main/cli-flow-files", "--down", "--format", "json").out) == found
        client.models.delete_version("cli-flow:1")
        assert danlu("flow", "store://main/cli-flow-files", "--down").out.splitlines() == [
            "store     store://main/cli-flow-files/",
            f"└─ model     cli-flow:1  {made.id}  deleted  (registered)",
        ]
        said = danlu("flow", "train-000000000000000001")
        assert (said.code, "no data flow is recorded" in said.err) == (1, True)
