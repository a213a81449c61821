#!/usr/bin/env bash
# Install the Debian or Ubuntu packages that Danlu makes use of, when root; otherwise say what is missed without them.
#
#   system-packages.sh          what running Danlu is better with
#   system-packages.sh tests    that, and what some tests need
set -u
has() { command -v "$1" >/dev/null; }
has_jpeg_headers() { printf '#include <stdio.h>\n#include <jpeglib.h>\n' | g++ -E -x c++ - >/dev/null 2>&1; }
# of the Python that runs here: one that does not come from the system brings its own
has_python_headers() {
  python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null
}
has_postgres() { command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; }
has_chinese_font() { has fc-list && fc-list :lang=zh | grep -q .; }
has_sftp_server() { [ -x /usr/lib/openssh/sftp-server ]; }
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

slow="danlu-accel decodes images through Pillow, several times slower"
missing=()
declare -A loss
need() { missing+=("$1"); loss[$1]="$2"; }
has bwrap || need bubblewrap "jobs run without a sandbox, they see this machine"
has slirp4netns || need slirp4netns "jobs with a network of their own do not reach other machines"
has_sftp_server || need openssh-sftp-server "sftp and scp into running jobs do not work"
has g++ || need g++ "$slow"
has_jpeg_headers || need libjpeg-dev "$slow"  # the name that Debian and Ubuntu share
has_python_headers || need python3-dev "$slow"
if [ "${1:-}" = tests ]; then
  has ip || need iproute2 "tests that need several hosts on one machine are skipped"
  has podman || docker images >/dev/null 2>&1 || need podman "tests of jobs with an image are skipped"
  has busybox || need busybox-static "tests of jobs with an image are skipped"
  has_postgres || need postgresql "tests on PostgreSQL are skipped"
  has chromium || need chromium "tests of the console are skipped"
  has chromium-headless-shell || need chromium-headless-shell "tests of the console take longer"
  has_chinese_font || need fonts-noto-cjk "Chinese text in screenshots is boxes"
  has nginx || need nginx-light "tests of endpoints behind nginx are skipped"
  has prometheus || need prometheus "the test that Prometheus reads the metrics is skipped"
  has ssh || need openssh-client "tests of SSH into jobs are skipped"
  has rsync || need rsync "tests of rsync into jobs are skipped"
  has mpirun || need openmpi-bin "tests of jobs that mpirun starts are skipped"
fi
has_venv || need python3-venv "no virtual environment can be made"
[ ${#missing[@]} -eq 0 ] && exit 0

can_install=no
if [ "$(id -u)" = 0 ] && has apt-get; then
  can_install=yes
  echo "installing ${missing[*]}"
  apt-get update -qq
fi
for package in "${missing[@]}"; do  # one by one: a name that is unknown here does not leave out the others
  if [ $can_install = yes ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null && continue
    why="apt-get could not install it"
  else
    why="installing it needs root and apt-get"
  fi
  printf 'note: %s is not installed: %s (%s)\n' "$package" "${loss[$package]}" "$why" >&2
done
has_venv  # without it nothing works; all the rest is for the better
