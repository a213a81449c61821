"""Every example is told in full; what a cluster lacks for it is named; a wheel has them all."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from tests.support.world import Api, World

from danlu.client.jobs.jobfile import read_job_file
from danlu.server.examples.files import load_examples, packaged

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


def test_all_folders_are_in_the_gallery_and_the_first_steps_come_first(api: Api) -> None:
    rows = api.json("GET", "/examples")["items"]
    assert sorted(row["name"] for row in rows) == NAMES
    assert rows[0]["name"] == "hello"
    assert len({load_examples(packaged())[name].about.order for name in NAMES}) == len(NAMES)


def test_each_is_told_in_both_languages_with_its_files_and_its_job(api: Api) -> None:
    for name in NAMES:
        told = api.json("GET", f"/examples/{name}")
        for words in (told["title"], told["about"]):
            assert re.search("[a-z]", words["en"]), name
            assert re.search("[\u4e00-\u9fff]", words["zh"]), name
        folder = EXAMPLES / name
        on_disk = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
        wanted = {
            path: file.read_bytes() for path, file in on_disk.items() if not re.search("__pycache__|example.yml", path)
        }
        assert {file["path"]: file["text"].encode() for file in told["files"]} == wanted
        if not told["is_job"]:
            assert (told["job"], told["code_folder"], "README.md" in wanted) == (None, None, True), name
            continue
        # the server and `danlu submit` read the same out of the job file
        values = read_job_file(folder / "job.yml", []).values
        assert {**told["job"], "code": values["code"]} == values, name
        assert any(file["is_code"] for file in told["files"]), name


def test_every_tag_has_a_name_in_the_console() -> None:
    tags = {tag for example in load_examples(packaged()).values() for tag in example.about.tags}
    for language in ("en", "zh"):
        text = (ROOT / "web" / "src" / "texts" / language / "examples.ts").read_text()
        assert {tag for tag in tags if f'"{tag}":' not in text and f"  {tag}:" not in text} == set()


def test_what_is_missing_is_named(world: World, api: Api) -> None:
    def needs(name: str) -> list[tuple[str, str, object]]:
        return [(one["kind"], one["name"], one["is_met"]) for one in api.json("GET", f"/examples/{name}")["needs"]]

    # the nodes of this world do not say what is installed there
    assert needs("ddp_images") == [("software", "torch", None), ("software", "numpy", None)]
    assert needs("hello") == []
    (npus,) = api.json("GET", "/examples/ascend")["needs"]
    assert (npus["kind"], npus["name"], npus["is_met"]) == ("devices", "2 × npu:910b:8", False)
    assert "npu:910b" in npus["why"]
    (image,) = api.json("GET", "/examples/image")["needs"]
    assert (image["kind"], image["is_met"]) == ("images", False)


def test_an_unknown_name_gets_the_nearest_known(api: Api) -> None:
    response = api("GET", "/examples/helo")
    assert response.status_code == 404
    assert "'helo'" in response.json()["message"]
    assert "hello" in response.json()["message"]
    assert api("GET", "/examples/..%2F..%2Fetc").status_code == 404


def test_a_wheel_has_them_and_no_second_copy(tmp_path: Path) -> None:
    (made,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(made) as opened:
        names = set(opened.namelist())
    wanted = {f"danlu/example_files/{name}/example.yml" for name in NAMES}
    assert wanted <= names
    assert "danlu/example_files/hello/code/train.py" in names
    assert "danlu/server/examples/files.py" in names
    assert {name for name in names if name.startswith(("examples/", "src/")) or "__pycache__" in name} == set()
