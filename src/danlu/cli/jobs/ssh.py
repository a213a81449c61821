"""`danlu ssh` and `danlu forward`"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NoReturn, Optional

import typer

from danlu.cli.options import JobName
from danlu.cli.terminal import echo_err

if TYPE_CHECKING:
    from danlu.client import Client

Rank = typer.Option(0, "--rank", "-r", min=0, help="Rank of the task.")


def ssh(
    job: JobName,
    command: Optional[list[str]] = typer.Argument(None, metavar="[-- COMMAND...]", help="Command; a shell without."),
    rank: int = Rank,
    show: bool = typer.Option(False, "--print", help="Print the ssh command, for other programs."),
) -> None:
    """Enter a running task with OpenSSH.

    Needs one of your keys in Danlu: `danlu ssh-keys add`. With --print, the words for scp, rsync or VS Code are shown.

    \b
    Examples:
      danlu ssh mnist
      danlu ssh mnist --rank 1 -- nvidia-smi
      danlu ssh mnist --print
    """
    import shlex

    from danlu.cli.terminal import echo
    from danlu.client import Client

    with Client() as client:
        words = [*ssh_words(client, job, rank=rank), *(command or ())]
    if show:
        echo(shlex.join(words))
        return
    _become(words)


def forward(
    job: JobName,
    port: int = typer.Argument(..., min=1, max=65535, help="Port in the job."),
    local: Optional[int] = typer.Option(None, "--local", "-l", min=1, max=65535, help="Local port; default: the same."),
    rank: int = Rank,
) -> None:
    """Forward a port of a running job to this machine.

    Ends with Ctrl-C.

    \b
    Examples:
      danlu forward mnist 6006
      danlu forward mnist 8080 --local 9000
    """
    from danlu.client import Client

    here = local or port
    with Client() as client:
        *words, user = ssh_words(client, job, rank=rank)
    echo_err(f"http://127.0.0.1:{here}/ is port {port} of {user.partition('@')[0]}; Ctrl-C ends it")
    _become([*words, "-N", "-o", "ExitOnForwardFailure=yes", "-L", f"127.0.0.1:{here}:localhost:{port}", user])


def ssh_words(client: Client, job: str, *, rank: int = 0) -> list[str]:
    """The words of ssh for a task. The gateway's key is known already, and none of ours is asked to be believed."""
    from danlu.client.config import user_file
    from danlu.errors import MissingExtra

    program = shutil.which("ssh")
    if program is None:
        raise MissingExtra("there is no `ssh` on this machine; install OpenSSH's client")
    gateway, found = client.ssh_keys.gateway(), client.jobs.get(job)
    known = user_file().with_name("known_hosts")
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text(f"danlu {gateway.host_key}\n")
    options = ("-p", str(gateway.port), "-o", f"UserKnownHostsFile={known}", "-o", "HostKeyAlias=danlu")
    return [program, *options, f"{found.id}.{rank}@{gateway.host}"]


def _become(words: list[str]) -> NoReturn:
    os.execv(words[0], words)
