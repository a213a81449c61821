"""A stand-in for `sudo`, which commands in the guides of other platforms begin with. It changes no rights."""

from __future__ import annotations

import shlex

from danlu.launch.layout import Layout

TEXT = """\
#!/bin/sh
# Stands in for sudo in a Danlu job: runs the command as it is, with the environment as it is.
# Understands sudo's options, so that lines written for it work; no rights are gained.
refuse() { echo "sudo: $1" >&2; exit 1; }
wants_shell=
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; break ;;
    --chdir=*|--chroot=*) refuse "${1%%=*} is not possible in a job" ;;
    --*=*|--askpass|--background|--bell|--non-interactive|--preserve-groups|--set-home|--stdin) shift ;;
    --preserve-env) shift ;;
    --user|--group|--host|--prompt|--close-from|--command-timeout|--role|--type|--other-user)
      shift
      [ $# -eq 0 ] || shift ;;
    --login|--shell) wants_shell=yes; shift ;;
    --validate|--list|--reset-timestamp|--remove-timestamp) exit 0 ;;
    --version) echo "sudo: stand-in of Danlu"; exit 0 ;;
    --*) refuse "option $1 is not known" ;;
    -?*)
      letters=${1#-}
      shift
      while [ -n "$letters" ]; do
        rest=${letters#?}
        case ${letters%"$rest"} in
          [AbBEHnPS]) ;;
          [is]) wants_shell=yes ;;
          [klKvV]) [ $# -gt 0 ] || exit 0 ;;
          # an option with a value, which may be the rest of this word
          [CghprtTuU]) [ -n "$rest" ] || [ $# -eq 0 ] || shift; rest= ;;
          *) refuse "option -${letters%"$rest"} is not possible in a job" ;;
        esac
        letters=$rest
      done ;;
    [A-Za-z_]*=*)
      case ${1%%=*} in *[!A-Za-z0-9_]*) break ;; esac
      export "$1"
      shift ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then
  [ -n "$wants_shell" ] || refuse "no command was given"
  exec "${SHELL:-/bin/sh}"
fi
[ -z "$wants_shell" ] || exec "${SHELL:-/bin/sh}" -c '"$@"' sh "$@"
command -v -- "$1" >/dev/null || refuse "$1: command not found"
exec "$@"
"""
FILES = {"sudo": "stands in for sudo: runs the command as it is, because a job cannot switch to another user"}


def path(layout: Layout) -> str:
    return f"{bin_folder(layout)}/sudo"


def bin_folder(layout: Layout) -> str:
    return f"{layout.config}/bin"


def add_to_path(layout: Layout) -> str:
    """A shell line that adds the stand-in to PATH."""
    return f'export PATH={shlex.quote(bin_folder(layout))}:"$PATH"'
