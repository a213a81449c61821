from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.client.jobs.jobfile import parse_job_text, parse_value, read_job_file, set_value
from danlu.errors import InvalidSpec
from danlu.spec.job import parse_job

FILE = Path("job.yml")


class TestReading:
    def test_words_and_numbers_are_as_in_yaml_1_2(self) -> None:
        text = "retry: {on: [lost], max: 3}\nhyperparameters: {lr: 1e-3, eps: 1e-08, mode: off, n: 0o17, when: 12:30}\n"
        assert parse_job_text(text, FILE).values == {
            "retry": {"on": ["lost"], "max": 3},
            "hyperparameters": {"lr": 0.001, "eps": 1e-08, "mode": "off", "n": 15, "when": "12:30"},
        }

    def test_anchors_and_merge_keys_work(self) -> None:
        values = parse_job_text("a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n", FILE).values
        assert values["b"] == {"p": 1, "q": 2}

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("name: [\n", "job.yml:2:1: not valid YAML"),
            ("name: a\n\tcommand: b\n", "job.yml:2:1: not valid YAML"),
            ("name: a\nname: b\n", "job.yml:2:1: duplicate field 'name', first in line 1"),
            ("env:\n  A: 1\n  A: 2\n", "job.yml:3:3: duplicate field 'A', first in line 2"),
            ("", "job.yml is empty; a job file holds lines such as"),
            ("- a\n- b\n", "job.yml holds a list; a job file holds lines such as"),
            ("a: !!python/object/apply:os.system [id]\n", "job.yml:1:4: not valid YAML: could not determine"),
            ("a: 1\n---\nb: 2\n", "job.yml:2:1: not valid YAML"),
            ("a: *gone\n", "job.yml:1:4: not valid YAML: found undefined alias"),
        ],
    )
    def test_a_wrong_file_names_line_and_column(self, text: str, told: str) -> None:
        with pytest.raises(InvalidSpec) as caught:
            parse_job_text(text, FILE)
        assert caught.value.message.startswith(told)

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidSpec, match=r"gone\.yml cannot be read: No such file or directory"):
            read_job_file(tmp_path / "gone.yml")
        with pytest.raises(InvalidSpec, match="cannot be read: Is a directory"):
            read_job_file(tmp_path)

    def test_a_file_that_is_not_text_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a.yml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidSpec, match="is not a text file in UTF-8"):
            read_job_file(tmp_path / "a.yml")

    @given(st.text(max_size=60))
    def test_no_text_makes_it_fail_in_another_way(self, text: str) -> None:
        with suppress(InvalidSpec):
            parse_job_text(text, FILE)


def explained(text: str) -> list[str]:
    """What a user reads about a file that is YAML but not a job."""
    job_file = parse_job_text(text, FILE)
    with pytest.raises(InvalidSpec) as caught, job_file.explained():
        parse_job(job_file.values)
    return caught.value.message.splitlines()


class TestExplained:
    def test_an_unknown_field_has_its_place_and_a_suggestion(self) -> None:
        assert explained("name: a\ncommand: b\nnodse: 2\n") == [
            "job.yml:3:1: nodse: unknown field of a job; did you mean 'nodes'?"
        ]

    def test_so_has_one_inside_another(self) -> None:
        assert explained("name: a\ncommand: b\nresources:\n  cpus: 1\n  devise: gpu\n") == [
            "job.yml:5:3: resources.devise: unknown field of a job; did you mean 'device'?"
        ]

    def test_every_wrong_field_has_a_line_of_its_own(self) -> None:
        lines = explained("name: a/b\nnodes: 0\ndata:\n  store://my.bucket/x.tar: /etc/x\nretry:\n  on: [never]\n")
        assert [line.split(": ")[0] for line in lines] == ["job.yml:1:1"] * 2 + [
            "job.yml:2:1",
            "job.yml:4:3",
            "job.yml:6:3",
        ]
        assert "got the system folder '/etc/x'" in lines[3]


class TestSet:
    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("nodes=4", {"nodes": 4}),
            ("hyperparameters.lr=1e-3", {"hyperparameters": {"lr": 0.001}}),
            ("env.A=b=c", {"env": {"A": "b=c"}}),
            ("retry.on=[lost, 'exit:3']", {"retry": {"on": ["lost", "exit:3"]}}),
            ("name=", {"name": None}),
        ],
    )
    def test_a_value_is_read_as_in_a_file(self, setting: str, expected: dict[str, Any]) -> None:
        assert set_value({}, setting) == expected

    def test_what_stands_beside_it_stays(self) -> None:
        values = {"name": "a", "env": {"A": "1"}}
        assert set_value(values, "env.B=2") == {"name": "a", "env": {"A": "1", "B": 2}}
        assert values == {"name": "a", "env": {"A": "1"}}

    @pytest.mark.parametrize("setting", ["nodes", "=4", "a..b=1", ".a=1"])
    def test_another_form_is_refused(self, setting: str) -> None:
        with pytest.raises(InvalidSpec, match="is not a setting; expected nodes=4"):
            set_value({}, setting)

    def test_a_field_below_a_value_is_refused(self) -> None:
        with pytest.raises(InvalidSpec, match="nodes is 4, which has no fields of its own"):
            set_value({"nodes": 4}, "nodes.x=1")

    def test_text_that_is_not_yaml_is_text(self) -> None:
        assert parse_value("[1, 2") == "[1, 2"
