from __future__ import annotations

import stat
from pathlib import Path

import pytest

from danlu.client.config import DEFAULT_URL, clean_url, is_loopback, load_settings, read_file, save
from danlu.errors import InvalidInput


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A project folder and a user file."""
    project = tmp_path / "project"
    project.mkdir()
    return project, tmp_path / "home" / "config.yml"


class TestPrecedence:
    def test_nothing_said_is_loopback_without_a_key(self, files: tuple[Path, Path]) -> None:
        project, user = files
        settings = load_settings(environ={"DANLU_CONFIG": str(user)}, folder=project)
        assert settings[:4] == (DEFAULT_URL, None, "the default", None)

    def test_each_source_wins_over_the_ones_below_it(self, files: tuple[Path, Path]) -> None:
        project, user = files
        env = {"DANLU_CONFIG": str(user)}
        save(user, {"url": "http://user:1", "api_key": "of-user"})
        assert load_settings(environ=env, folder=project)[:2] == ("http://user:1", "of-user")
        save(project / ".danlu.yml", {"url": "http://project:1", "api_key": "of-project"})
        assert load_settings(environ=env, folder=project)[:2] == ("http://project:1", "of-project")
        env |= {"DANLU_URL": "http://env:1", "DANLU_API_KEY": "of-env"}
        assert load_settings(environ=env, folder=project)[:2] == ("http://env:1", "of-env")
        given = load_settings(url="http://arg:1", api_key="of-arg", environ=env, folder=project)
        assert given[:2] == ("http://arg:1", "of-arg")

    def test_the_users_key_is_not_sent_to_an_address_that_a_project_names(self, files: tuple[Path, Path]) -> None:
        project, user = files
        save(user, {"url": "http://mine:1", "api_key": "secret"})
        save(project / ".danlu.yml", {"url": "http://elsewhere:1"})
        settings = load_settings(environ={"DANLU_CONFIG": str(user)}, folder=project)
        assert settings[:2] == ("http://elsewhere:1", None)

    def test_the_users_key_is_sent_when_the_project_names_the_same_address(self, files: tuple[Path, Path]) -> None:
        project, user = files
        save(user, {"url": "http://mine:1/", "api_key": "secret"})
        save(project / ".danlu.yml", {"url": "http://mine:1"})
        assert load_settings(environ={"DANLU_CONFIG": str(user)}, folder=project).api_key == "secret"

    def test_an_empty_variable_is_none(self, files: tuple[Path, Path]) -> None:
        project, user = files
        env = {"DANLU_CONFIG": str(user), "DANLU_URL": "", "DANLU_API_KEY": ""}
        assert load_settings(environ=env, folder=project)[:2] == (DEFAULT_URL, None)

    @pytest.mark.parametrize("key", ["a b", "密", "a\nb", "   "])
    def test_a_key_that_cannot_be_one_is_refused_and_not_repeated(self, tmp_path: Path, key: str) -> None:
        env = {"DANLU_CONFIG": str(tmp_path / "x"), "DANLU_API_KEY": key}
        with pytest.raises(InvalidInput) as caught:
            load_settings(environ=env, folder=tmp_path)
        assert caught.value.message.startswith("the API key from the environment has characters that no key has")
        assert load_settings(environ={**env, "DANLU_API_KEY": "good\n"}, folder=tmp_path).api_key == "good"


class TestInsideAJob:
    @pytest.fixture
    def env(self, tmp_path: Path) -> dict[str, str]:
        (tmp_path / "token").write_text("jt-one\n")
        return {
            "DANLU_CONFIG": str(tmp_path / "config.yml"),
            "DANLU_URL": "http://10.88.255.254:8400",
            "DANLU_TOKEN_FILE": str(tmp_path / "token"),
        }

    def test_nothing_is_configured(self, env: dict[str, str], tmp_path: Path) -> None:
        settings = load_settings(environ=env, folder=tmp_path)
        assert settings[:2] == ("http://10.88.255.254:8400", "jt-one")
        assert settings.key_from == "the job's token file"

    def test_a_renewed_token_is_the_one_that_is_sent(self, env: dict[str, str], tmp_path: Path) -> None:
        credentials = load_settings(environ=env, folder=tmp_path).credentials
        assert callable(credentials)
        (tmp_path / "token").write_text("jt-two")
        assert credentials() == "jt-two"

    def test_the_token_goes_to_no_other_server(self, env: dict[str, str], tmp_path: Path) -> None:
        settings = load_settings(url="http://elsewhere:1", environ=env, folder=tmp_path)
        assert (settings.api_key, settings.credentials) == (None, None)

    def test_a_placeholder_does_no_harm_and_a_key_counts(self, env: dict[str, str], tmp_path: Path) -> None:
        assert load_settings(environ={**env, "DANLU_API_KEY": "xxx"}, folder=tmp_path).api_key == "jt-one"
        assert load_settings(environ={**env, "DANLU_API_KEY": "dk-1.2"}, folder=tmp_path).api_key == "dk-1.2"

    def test_a_token_that_cannot_be_read_is_named(self, env: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "token").write_text("")
        with pytest.raises(InvalidInput, match="expected the job's token, got an empty file"):
            load_settings(environ=env, folder=tmp_path)
        (tmp_path / "token").unlink()
        with pytest.raises(InvalidInput, match="cannot be read"):
            load_settings(environ=env, folder=tmp_path)


class TestFile:
    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "config.yml"
        save(path, {"url": DEFAULT_URL, "api_key": "x"})
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert read_file(path) == {"url": DEFAULT_URL, "api_key": "x"}
        assert list(path.parent.iterdir()) == [path]

    def test_saving_keeps_it_secret_when_it_was_not(self, tmp_path: Path) -> None:
        path = tmp_path / "config.yml"
        path.write_text("url: http://a:1\n")
        path.chmod(0o644)
        save(path, {"url": "http://b:1"})
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("url: [", ":1:7 is not valid YAML"),
            ("just words", "must contain lines such as"),
            ("url: 5", "must contain lines such as"),
            ("urll: http://a", "no setting 'urll'; known: api_key, code, key_id, url"),
        ],
    )
    def test_a_wrong_file_says_what_is_wrong(self, tmp_path: Path, text: str, told: str) -> None:
        path = tmp_path / "config.yml"
        path.write_text(text)
        with pytest.raises(InvalidInput) as caught:
            read_file(path)
        assert told in caught.value.message
        assert str(path) in caught.value.message


class TestUrl:
    @pytest.mark.parametrize(
        ("given", "cleaned"),
        [
            ("http://127.0.0.1:8400/", "http://127.0.0.1:8400"),
            (" https://danlu.example.org/api/v1/ ", "https://danlu.example.org"),
            ("https://example.org/danlu/", "https://example.org/danlu"),
            ("http://[::1]:8400", "http://[::1]:8400"),
        ],
    )
    def test_is_brought_to_one_form(self, given: str, cleaned: str) -> None:
        assert clean_url(given) == cleaned

    @pytest.mark.parametrize(
        "given", ["127.0.0.1:8400", "ftp://a", "", "http://", "http://a:port", "http://[::1", "http://a\x7fb"]
    )
    def test_others_are_refused_with_what_would_be_right(self, given: str) -> None:
        with pytest.raises(InvalidInput, match=r"expected http://127\.0\.0\.1:8400"):
            clean_url(given)

    def test_loopback_is_known(self) -> None:
        assert [url for url in ("http://127.0.0.1:1", "http://[::1]:2", "http://localhost", "http://job.localhost:1")
                if not is_loopback(url)] == []  # fmt: skip
        assert not is_loopback("http://localhost.example.org")
