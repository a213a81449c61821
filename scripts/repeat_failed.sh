#!/usr/bin/env bash
# After a failed `make test`: run the tests that failed once more, one after the other, with nothing beside them.
#
# Tests of processes and clocks can be disturbed by what else runs on the machine; a defect fails again. More than a few
# failures, or a failure of anything but these tests, stays one. See docs/decisions/0300.
set -euo pipefail
cd "$(dirname "$0")/.."
MOST=5
FAILED=.pytest_cache/v/cache/lastfailed

[ -s "$FAILED" ] || { echo "no test failed that could be run again" >&2; exit 1; }
count=$(.venv/bin/python -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$FAILED")
if [ "$count" -gt "$MOST" ]; then
  echo "$count tests failed: more than $MOST are not run again" >&2
  exit 1
fi
echo "$count failed beside other tests; they are run again, alone:"
.venv/bin/python -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$FAILED"
exec .venv/bin/pytest -q -m "not long" --last-failed --last-failed-no-failures none
