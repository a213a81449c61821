"""AIS-Bench's guide from its first to its last step: configure, `ais-bench-stubs test`, read the results, stop."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import moxing as mox
from danlu.bench import tester
from danlu.client import Client
from danlu.testing.serving import RunningServer
from modelarts.estimator import JOB_STATE, Estimator
from modelarts.estimatorV2 import Estimator as SecondEstimator
from modelarts.session import Session
from modelarts.train_params import InputData, OutputData, TrainingFiles
from moxing.file import remote
from obs import ObsClient

PACKAGE = Path(__file__).parent / "aisbench"
STUBS = [sys.executable, "-m", "ais_bench_stubs"]
Stubs = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def package(client: Client, tmp_path: Path) -> Path:
    """The unpacked package, and the data set in the store."""
    folder = tmp_path / "Ais-Benchmark-Stubs-x86_64"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "images.txt").write_text("a b c d")
    client.store.upload(tmp_path / "train", "main/lcm_test/dataset/imagenet_small/train/")
    return folder


@pytest.fixture
def stubs(server: RunningServer, package: Path) -> Stubs:
    env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}

    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*STUBS, *words], cwd=package, env={**env, **more}, capture_output=True, text=True, check=False
        )

    return call


def configure(package: Path, *lines: str) -> None:
    """What a tester adds to config.sh."""
    with (package / "code" / "config" / "config.sh").open("a") as file:
        file.writelines(f"export {line}\n" for line in lines)


def rename_job(package: Path, name: str) -> None:
    config = package / "code" / "config" / "modelarts_config.py"
    config.write_text(config.read_text().replace("aisbench-debug", name))


def results_of(package: Path) -> dict[str, float]:
    found = json.loads((package / "result" / "result.log").read_text())
    record = json.loads((package / "result" / "result.json").read_text())["train_result_info"]
    assert (record["throughput_ratio"], record["accuracy"]) == (str(found["throughput_ratio"]), str(found["accuracy"]))
    assert isinstance(found, dict)
    return found


class TestGuide:
    def test_the_first_modelarts(self, client: Client, package: Path, stubs: Stubs) -> None:
        """Four ranks: 4 images, 5 epochs, (1 + 2 + 3 + 4) / 2. The second test is the next version of the job."""
        done = stubs("test")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "report result total_throughput : 100.0" in done.stdout
        assert "task succeeded, total time" in done.stdout
        assert results_of(package) == {"throughput_ratio": 100.0, "accuracy": 0.76}
        assert len(list((package / "log").iterdir())) == 2
        version = done.stdout.partition("version_name:")[2].split()[0]
        names = {item.key.rpartition("/")[2] for item in client.store.list(f"main/lcm_test/result/{version}/")}
        assert names >= {*(f"throughput_{rank}.json" for rank in range(4)), "accuracy.json", "ranksize.json"}

    @pytest.mark.parametrize("version", ["V1", "V2"])
    def test_single_servers(self, package: Path, stubs: Stubs, version: str) -> None:
        configure(package, "SINGLESERVER_MODE=True", f"MODELARTS_VERSION={version}")
        done = stubs("test")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "report >> throughput_list:[30.0, 70.0] average:50.0" in done.stdout
        assert "export SINGLESERVER_MODE=True" in (package / "code" / "code" / "ma-pre-start.sh").read_text()

    def test_the_second_modelarts_and_a_tester(
        self, client: Client, server: RunningServer, package: Path, stubs: Stubs
    ) -> None:
        """The last step: what came of it is reported to the Tester, which is a Danlu server as well."""
        rename_job(package, "aisbench-reported")
        configure(package, "MODELARTS_VERSION=V2")
        done = stubs("test", DANLU_TESTER_URL=server.url, DANLU_TESTER_KEY=server.api_key)
        assert done.returncode == 0, done.stdout + done.stderr
        assert results_of(package) == {"throughput_ratio": 100.0, "accuracy": 0.76}
        (entry,) = tester.board(client, "aisbench-reported", bucket="main")
        assert (entry.value, entry.unit, entry.nodes, entry.num_ranks) == (100.0, "samples/s", 2, 4)
        assert f"reported to the Tester: store://main/bench-results/aisbench-reported/{entry.run}.json" in done.stdout

    @pytest.mark.parametrize(
        ("line", "code", "told"),
        [
            ("export DIES=2", 2, "task failed, status JOBSTAT_FAILED"),
            ("export SILENT=1", 4, "rank 1 left no throughput_1.json"),
        ],
    )
    def test_a_rank_without_a_result_fails_the_test(
        self, package: Path, stubs: Stubs, line: str, code: int, told: str
    ) -> None:
        with (package / "code" / "code" / "ma-pre-start.sh").open("a") as file:
            file.write(f"{line}\n")
        done = stubs("test")
        assert done.returncode == code
        assert told in done.stdout + done.stderr

    def test_a_training_that_takes_too_long_is_stopped(self, client: Client, package: Path, stubs: Stubs) -> None:
        rename_job(package, "aisbench-endless")
        train = package / "code" / "code" / "train.py"
        train.write_text(train.read_text() + "import signal\nsignal.pause()\n")
        done = stubs("test", "--timeout", "1s")
        assert done.returncode == 2
        assert "it was stopped after 1 s" in done.stderr
        (job,) = client.jobs.list(tags={"modelarts-job": "aisbench-endless"})
        assert str(job.state) == "stopped"

    def test_a_configuration_that_cannot_be_used(self, package: Path, stubs: Stubs) -> None:
        configure(package, "MODELARTS_VERSION=V9")
        done = stubs("test")
        assert done.returncode == 1
        assert "MODELARTS_VERSION: expected V1 or V2, got 'V9'" in done.stderr

    def test_interrupting_it_stops_the_training(
        self, client: Client, server: RunningServer, package: Path, stubs: Stubs
    ) -> None:
        rename_job(package, "aisbench-interrupted")
        train = package / "code" / "code" / "train.py"
        train.write_text(train.read_text() + "import signal\nsignal.pause()\n")
        env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
        with subprocess.Popen([*STUBS, "test"], cwd=package, env=env, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                if "JOBSTAT_RUNNING" in line:
                    break
            running.send_signal(signal.SIGINT)
            assert "JOBSTAT_KILLED stop status:True" in running.stdout.read()
        assert running.returncode == 130
        again = stubs("stop")
        assert (again.returncode, "no need stop" in again.stdout) == (0, True)


class TestSdk:
    """The calls that AIS-Bench's own scripts make."""

    @pytest.fixture
    def session(self, client: Client) -> Session:
        key, _, secret = str(client.settings.api_key).partition(".")
        Session.set_endpoint(modelarts_endpoint=client.url)
        return Session(access_key=key, secret_key=secret, project_id="", region_name="cn-north-4")

    def test_a_job_and_its_versions(self, client: Client, session: Session, package: Path) -> None:
        client.store.upload(package / "code" / "code", "main/sdk/resnet/")

        def estimator() -> Estimator:
            return Estimator(
                modelarts_session=session,
                framework_type="Ascend-Powered-Engine",
                framework_version="MindSpore-1.3",
                code_dir="/main/sdk/resnet/",
                boot_file="/main/sdk/resnet/train.py",
                log_url="/main/sdk/out/V1/",
                hyperparameters=[{"label": "config_path", "value": "x.yaml"}],
                output_path="/main/sdk/out/V1/",
                train_instance_type="modelarts.kat1.xlarge",
                train_instance_count=1,
                job_description="x",
                user_command=None,
            )

        first = estimator().fit(inputs="/main/lcm_test/dataset/imagenet_small/", wait=False, job_name="sdk-versions")
        info = first.get_job_info()
        assert (info["is_success"], info["version_name"]) == (True, "V1")
        second = estimator().create_job_version(job_id=info["job_id"], inputs="/main/lcm_test/", wait=False)
        assert second.get_job_info()["version_name"] == "V2"
        listed = Estimator.get_job_list(modelarts_session=session, search_content="sdk-versions")
        assert (listed["job_total_count"], listed["jobs"][0]["version_name"]) == (2, "V2")
        for one in (first, second):
            one.stop_job_version()
            assert one.job is not None
            one.job.wait()
            assert one.get_job_info()["status"] in (11, 12)
        assert JOB_STATE[12] == "JOBSTAT_KILLED"

    def test_the_second_estimator(self, client: Client, session: Session, package: Path, tmp_path: Path) -> None:
        """What AIS-Bench's second handler does, with its paths: `obs:/` before `/bucket/...`."""
        client.store.upload(package / "code" / "code", "main/sdk/resnet/")
        out = "/main/sdk/out2/sdk-second/"
        parameters = {"config_path": "x.yaml", "enable_modelarts": "True", "epoch_size": "5", "device_num": "1"}
        estimator = SecondEstimator(
            session=session,
            framework_type="Ascend-Powered-Engine",
            framework_version="mindspore_1.3.0",
            training_files=TrainingFiles(code_dir="obs://main/sdk/resnet/", boot_file="obs://main/sdk/resnet/train.py"),
            log_url=f"obs:/{out}",
            parameters=[{"name": name, "value": value} for name, value in parameters.items()],
            outputs=[OutputData(obs_path=f"obs:/{out}", name="train_url")],
            pool_id=None,
            train_instance_type="modelarts.kat1.xlarge",
            train_instance_count=1,
            job_description="x",
            user_command=None,
        )
        inputs = [InputData(obs_path="obs://main/lcm_test/dataset/imagenet_small/", name="data_url")]
        instance = estimator.fit(inputs=inputs, wait=True, job_name="sdk-second")
        info = instance.get_job_info()
        assert (info["metadata"]["name"], info["status"]["phase"]) == ("sdk-second", "Completed")
        assert session.obs.is_obs_path_exists(f"obs:/{out}throughput_0.json")
        session.obs.download_file(f"obs:/{out}throughput_0.json", str(tmp_path / "found"))
        assert (tmp_path / "found").read_text() == "10.0"
        again = SecondEstimator.control_job_by_id(session=session, job_id=info["metadata"]["id"])
        assert again["status"]["phase"] == "Completed"
        refused = SecondEstimator(session, outputs=[OutputData("obs://main/no-slash")]).fit(job_name="x")
        assert "ModelArts.2791" in refused.get_job_info()["error_msg"]

    def test_what_is_wrong_is_in_the_answer(self, session: Session) -> None:
        job = Estimator(modelarts_session=session, code_dir="/main/x/", boot_file="/main/y/train.py").fit(wait=False)
        info = job.get_job_info()
        assert info["is_success"] is False
        assert "boot_file" in info["error_msg"]

    def test_obs(self, client: Client, tmp_path: Path) -> None:
        key, _, secret = str(client.settings.api_key).partition(".")
        obs = ObsClient(access_key_id=key, secret_access_key=secret, server=client.url)
        assert obs.putContent("main", "obs-sdk/", content=None).status < 300
        assert obs.putContent("main", "obs-sdk/x.json", "450.7").status < 300
        found = obs.getObject("main", "obs-sdk/x.json", loadStreamInMemory=True)
        assert found.body.buffer == b"450.7"
        assert obs.getObject("main", "obs-sdk/none", loadStreamInMemory=True).status == 404
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "y").write_text("y")
        assert obs.putFile("main", "obs-sdk/folder", str(tmp_path / "folder")).status < 300
        assert [one.key for one in obs.listObjects("main", "obs-sdk/").body.contents] == [
            "obs-sdk/folder/y",
            "obs-sdk/x.json",
        ]
        obs.close()


class TestMoxing:
    @pytest.fixture(autouse=True)
    def _as_somebody(self, client: Client) -> Iterator[None]:
        remote.use(client)
        yield
        remote.use(None)

    def test_files_and_folders(self, tmp_path: Path) -> None:
        base = "obs://main/mox-files"
        mox.file.write(f"{base}/a/x.txt", "hello")
        mox.file.write(f"{base}/a/b/y.bin", b"\x00\x01")
        mox.file.append(f"{base}/a/x.txt", " world")
        assert mox.file.read("s3://main/mox-files/a/x.txt") == "hello world"
        assert mox.file.read(f"{base}/a/b/y.bin", binary=True) == b"\x00\x01"
        assert mox.file.list_directory(f"{base}/a") == ["b", "x.txt"]
        assert mox.file.list_directory(base, recursive=True) == ["a", "a/b", "a/b/y.bin", "a/x.txt"]
        assert mox.file.get_size(f"{base}/a/x.txt") == 11
        assert mox.file.get_size(base, recursive=True) == 13
        assert (mox.file.exists(f"{base}/a"), mox.file.is_directory(f"{base}/a"), mox.file.exists(f"{base}/z")) == (
            True,
            True,
            False,
        )
        mox.file.copy_parallel(base, str(tmp_path / "copy"))
        assert (tmp_path / "copy" / "a" / "x.txt").read_text() == "hello world"
        mox.file.copy_parallel(str(tmp_path / "copy"), "obs://main/mox-second")
        mox.file.copy_parallel("obs://main/mox-second/a", "obs://main/mox-third")
        assert mox.file.list_directory("obs://main/mox-third") == ["b", "x.txt"]
        mox.file.rename("obs://main/mox-third/x.txt", "obs://main/mox-third/z.txt")
        assert mox.file.glob("obs://main/mox-third/*.txt") == ["obs://main/mox-third/z.txt"]
        mox.file.remove("obs://main/mox-third", recursive=True)
        assert not mox.file.exists("obs://main/mox-third")

    def test_folders_that_are_empty(self) -> None:
        mox.file.make_dirs("obs://main/mox-empty/a/b")
        assert mox.file.is_directory("obs://main/mox-empty/a/b")
        assert mox.file.list_directory("obs://main/mox-empty/a/b") == []
        assert mox.file.stat("obs://main/mox-empty").is_directory

    def test_what_is_not_there(self) -> None:
        for call in (mox.file.read, mox.file.get_size, mox.file.stat, mox.file.remove, mox.file.list_directory):
            with pytest.raises(FileNotFoundError):
                call("obs://main/mox-none/x")

    def test_open_files(self) -> None:
        with mox.file.File("obs://main/mox-open/log.txt", "w") as file:
            file.write("one\n")
            file.flush()
            assert mox.file.read("obs://main/mox-open/log.txt") == "one\n"
            file.write("two\n")
        with mox.file.File("obs://main/mox-open/log.txt", "a") as file:
            file.write("three\n")
        with mox.file.File("obs://main/mox-open/log.txt") as file:
            assert [line.strip() for line in file] == ["one", "two", "three"]
        with pytest.raises(FileNotFoundError):
            mox.file.File("obs://main/mox-open/none", "r")

    def test_shifted(self) -> None:
        mox.file.shift("os", "mox")
        try:
            os.makedirs("s3://main/mox-shift/a")
            with open("s3://main/mox-shift/a/x.txt", "w") as file:
                file.write("hello")
            assert os.listdir("s3://main/mox-shift/a") == ["x.txt"]
            assert os.path.exists("s3://main/mox-shift/a/x.txt")
            assert os.path.getsize("s3://main/mox-shift/a/x.txt") == os.stat("s3://main/mox-shift/a/x.txt").st_size == 5
            assert [names for _, _, names in os.walk("s3://main/mox-shift")] == [[], ["x.txt"]]
            shutil.rmtree("s3://main/mox-shift")
            assert not os.path.exists("s3://main/mox-shift")
        finally:
            mox.file.shift("mox", "os")
