#!/usr/bin/env bash
# Install the Debian packages that Danlu makes use of, when root; otherwise say what is missed without them.
set -u
has() { command -v "$1" >/dev/null; }
has_jpeg_headers() { printf '#include <stdio.h>\n#include <jpeglib.h>\n' | g++ -E -x c++ - >/dev/null 2>&1; }

missing=() notes=()
need() { missing+=("$1"); notes+=("$1 is not installed: $2"); }
has bwrap || need bubblewrap "jobs run without a sandbox, they see this machine"
has slirp4netns || need slirp4netns "jobs with a network of their own do not reach other machines"
has g++ || need g++ "danlu-accel decodes images through Pillow, several times slower"
has_jpeg_headers || need libjpeg62-turbo-dev "danlu-accel decodes images through Pillow, several times slower"
python3 -c 'import ensurepip, venv' 2>/dev/null || need python3-venv "no virtual environment can be made"
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && has apt-get; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null && exit 0
fi
printf 'note: %s (installing it needs root and apt-get)\n' "${notes[@]}" >&2
python3 -c 'import ensurepip, venv'
