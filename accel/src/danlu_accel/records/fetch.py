"""Write an object behind a URL to standard output, for forked processes that cannot fetch it themselves.

python -m danlu_accel.records.fetch s3://bucket/prefix name
"""

from __future__ import annotations

import sys

from danlu_accel.records.errors import RecordError
from danlu_accel.records.remote import reader_for


def main(url: str, name: str) -> int:
    try:
        for chunk in reader_for(url).read(name):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except RecordError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
