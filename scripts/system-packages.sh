#!/usr/bin/env bash
# Install the Debian packages that Danlu makes use of, when root; otherwise say what is missed without them.
set -u
declare -A USE=(
  [bubblewrap]="bwrap|jobs run without a sandbox: they see this machine"
  [slirp4netns]="slirp4netns|jobs with a network of their own do not reach other machines"
)
missing=()
for package in "${!USE[@]}"; do
  command -v "${USE[$package]%%|*}" >/dev/null || missing+=("$package")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null && exit 0
fi
for package in "${missing[@]}"; do
  echo "note: the package $package is not installed and cannot be installed from here (root and apt-get are needed):" \
    "${USE[$package]##*|}" >&2
done
[ "$(printf '%s\n' "${missing[@]}" | grep -c python3-venv)" = 0 ]
