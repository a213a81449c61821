"""The console in Chromium: size of the first page and time until it is interactive; logs of a million lines, plain and
with 200 MB of progress bars and colours; a table of ten thousand jobs; a run of 200 metrics; 50 runs in groups with
bands; and runs compared with MLflow's pages. Each figure is the median of five (three with --quick), by the page's own
clock. Run nothing else meanwhile. The last line printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent / "console"))
from jobs_pages import measure_jobs
from log_pages import measure_logs
from metric_pages import measure_metrics
from runs_pages import measure_runs

MEASURES = {"jobs": measure_jobs, "logs": measure_logs, "metrics": measure_metrics}
PARTS = (*MEASURES, "runs")
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--no-mlflow", action="store_true", help="leave MLflow out")
    options = parser.parse_args()
    repeats = 3 if options.quick else 5
    chromium = shutil.which("chromium") or sys.exit("Chromium is not installed: scripts/system-packages.sh tests")
    folder = Path(tempfile.mkdtemp(prefix="danlu-bench-"))
    print(f"load average at the start: {os.getloadavg()[0]:.2f}")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGS))
            figures = []
            for part in PARTS if options.only is None else [options.only]:
                if part == "runs":
                    figures += measure_runs(browser, folder, repeats, with_mlflow=not options.no_mlflow)
                else:
                    figures += MEASURES[part](browser, folder, repeats)
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for one in figures:
        print(f"{one['name']:<64} {one['value']:>8.1f}   gate {one['gate']}")
    print(json.dumps({"bench": "console", "figures": figures}))


if __name__ == "__main__":
    main()
