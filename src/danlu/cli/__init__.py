"""The command line. Commands are imported when called, so that `danlu --help` is fast."""

from __future__ import annotations

import traceback
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional

import typer
from typer.core import TyperGroup

from danlu.cli.terminal import echo, fail, guarded_streams

if TYPE_CHECKING:
    from danlu.errors import DanluError


class Command(NamedTuple):
    home: str
    """`module:function`, or `module:app` for a group."""

    summary: str


SYNONYMS = ({"ls", "list"}, {"rm", "remove", "delete"})
SECTIONS: dict[str, dict[str, Command]] = {
    "Jobs": {
        "submit": Command("danlu.cli.jobs.submit:submit", "Submit a job file and follow its logs."),
        "run": Command("danlu.cli.jobs.run:run", "Run a command as a job and follow its logs."),
        "plan": Command("danlu.cli.jobs.plan:plan", "Show the plan of a job: what each rank gets."),
        "examples": Command("danlu.cli.jobs.examples:app", "Read, run and copy examples."),
        "templates": Command("danlu.cli.jobs.templates:app", "Save and reuse job templates."),
        "ps": Command("danlu.cli.jobs.ps:ps", "List jobs."),
        "show": Command("danlu.cli.jobs.show:show", "Show a job, its state and the reason."),
        "why": Command("danlu.cli.jobs.why:why", "Explain why a job waits, and what would let it start."),
        "logs": Command("danlu.cli.jobs.logs:logs", "Print or follow the logs of a job."),
        "alerts": Command("danlu.cli.jobs.alerts:alerts", "Show what is wrong with running jobs."),
        "top": Command("danlu.cli.jobs.top:top", "Show the resource usage of a job's tasks."),
        "shell": Command("danlu.cli.jobs.shell:shell", "Open a shell in a running task."),
        "exec": Command("danlu.cli.jobs.shell:exec_", "Run a command in a running task."),
        "notebook": Command("danlu.cli.jobs.notebook:notebook", "Start JupyterLab as a job."),
        "ssh": Command("danlu.cli.jobs.ssh:ssh", "Enter a running task with OpenSSH."),
        "forward": Command("danlu.cli.jobs.ssh:forward", "Forward a port of a running job to this machine."),
        "open": Command(
            "danlu.cli.jobs.endpoints:open_", "Open JupyterLab, TensorBoard or a port of a running job in a browser."
        ),
        "close": Command("danlu.cli.jobs.endpoints:close", "Close an endpoint of a job."),
        "favourite": Command("danlu.cli.jobs.favourite:favourite", "Mark jobs as favourites, to find them again."),
        "wait": Command("danlu.cli.jobs.wait:wait", "Wait until jobs have ended."),
        "stop": Command("danlu.cli.jobs.lifecycle:stop", "Stop jobs."),
        "pause": Command("danlu.cli.jobs.lifecycle:pause", "Pause a job; it keeps its id and output."),
        "resume": Command("danlu.cli.jobs.lifecycle:resume", "Queue a paused job again."),
        "start": Command("danlu.cli.jobs.lifecycle:start", "Run an ended job again."),
        "rm": Command("danlu.cli.jobs.lifecycle:rm", "Delete ended jobs."),
    },
    "Runs and artifacts": {
        "runs": Command("danlu.cli.tracking.runs:app", "List, search, compare and export runs."),
        "artifacts": Command(
            "danlu.cli.tracking.artifacts:app", "Store versions of files by name: checkpoints, models, data sets."
        ),
        "sync": Command("danlu.cli.tracking.sync:sync", "Upload runs and artifacts from this machine to the server."),
        "track": Command(
            "danlu.cli.tracking.track:app", "Import runs from other trackers, and export them to TensorBoard."
        ),
    },
    "Models and data flow": {
        "models": Command("danlu.cli.tracking.models:app", "Register, compare, alias, download and delete models."),
        "flow": Command(
            "danlu.cli.tracking.flow:flow",
            "Show the lineage of something: what it was made from, and what was made from it.",
        ),
    },
    "Store and nodes": {
        "store": Command("danlu.cli.cluster.store:app", "Copy, list and delete files in the store."),
        "data": Command("danlu.cli.cluster.data:app", "Bring files to /data, which a project's jobs share."),
        "environments": Command(
            "danlu.cli.cluster.environments:environments", "List installed packages of jobs on the nodes."
        ),
        "nodes": Command("danlu.cli.cluster.nodes:app", "List nodes and their devices; drain and open them."),
        "flavors": Command("danlu.cli.cluster.flavors:app", "Named machine shapes with prices."),
        "frameworks": Command("danlu.cli.cluster.frameworks:app", "Named environments for jobs."),
        "bench": Command(
            "danlu.cli.bench:app",
            "Measure a cluster: run suites, collect what every rank leaves, report and compare.",
        ),
    },
    "Files": {
        "ranktable": Command("danlu.cli.cluster.ranktable:app", "Check and convert Ascend rank tables (hccl.json)."),
    },
    "Access": {
        "login": Command("danlu.cli.people.login:login", "Sign in and store an API key."),
        "logout": Command("danlu.cli.people.login:logout", "Delete the stored API key, here and on the server."),
        "whoami": Command("danlu.cli.people.login:whoami", "Show your user name and server; inside a job, the job."),
        "passwd": Command("danlu.cli.people.login:passwd", "Change your password."),
        "register": Command("danlu.cli.people.register:register", "Request an account."),
        "quota": Command("danlu.cli.people.quota:app", "Show and set quotas of projects and users."),
        "ssh-keys": Command(
            "danlu.cli.people.ssh_keys:app", "List, add and remove the SSH keys that you enter jobs with."
        ),
        "notices": Command(
            "danlu.cli.people.notices:app", "Show your notices: ends of your jobs, and alerts about them."
        ),
        "webhooks": Command(
            "danlu.cli.people.webhooks:app", "List, add, test and remove addresses that receive events."
        ),
        "keys": Command("danlu.cli.people.keys:app", "List, create and delete API keys."),
    },
    "People and projects": {
        "users": Command("danlu.cli.people.users:app", "Approve, invite and disable users."),
        "projects": Command("danlu.cli.people.projects:app", "Manage projects, members and buckets."),
        "cost": Command("danlu.cli.people.cost:cost", "Show what jobs cost, by project and user."),
        "audit": Command("danlu.cli.people.audit:audit", "Show who changed what, when and from where."),
    },
    "Server": {
        "up": Command("danlu.cli.server.up:up", "Start a server on this machine."),
        "admin": Command("danlu.cli.server.admin:app", "Back up, restore, migrate and clean the stores of a server."),
        "doctor": Command(
            "danlu.cli.server.doctor:doctor",
            "Check this machine and the server, and say how to fix problems.",
        ),
    },
}
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class _Commands(TyperGroup):
    """The commands above, imported on use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, command.summary) for name, command in section.items()])


def load_command(name: str) -> Any:
    """Load a command."""
    module, _, attribute = COMMANDS[name].home.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        return _with_synonyms(typer.main.get_group(found))
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name=name, context_settings=getattr(found, "context_settings", CONTEXT))(found)
    return typer.main.get_command(single)


def _with_synonyms(group: TyperGroup) -> TyperGroup:
    """Add hidden synonyms to a group, such as `list` for `ls`."""
    for words in SYNONYMS:
        there = [word for word in words if word in group.commands]
        if len(there) != 1:
            continue
        for word in words - {there[0]}:
            group.commands[word] = copy(group.commands[there[0]])
            group.commands[word].hidden = True
    return group


app = typer.Typer(
    name="danlu",
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=CONTEXT,
)


def _version(is_asked: bool) -> None:
    if is_asked:
        from danlu import __version__

        echo(f"danlu {__version__}")
        raise typer.Exit


@app.callback()
def _danlu(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Danlu: an open training platform.

    \b
    danlu up                               start a server on this machine
    danlu login LINK                       sign in with the link that it prints
    danlu run -N 2 --launch ddp -- python train.py
    danlu COMMAND --help                   explains a command, with examples
    """


def main(argv: Optional[list[str]] = None) -> NoReturn:
    """Run the command line and exit: 0, 1 for an error, 2 for wrong usage; `wait` and followers have more."""
    from danlu.errors import DanluError

    with guarded_streams():
        try:
            app(args=argv, prog_name="danlu")
        except DanluError as error:
            fail(_in_language(error))
        except TimeoutError as error:
            fail(str(error), code=101)
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except Exception:  # printed here, because it is escaped here
            traceback.print_exc()
            raise SystemExit(1) from None
    raise AssertionError("typer exits by itself")


def _in_language(error: DanluError) -> str:
    from danlu.cli.language import failure

    return failure(error)
