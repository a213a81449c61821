// Which files of a code folder travel. The same rules as those of `danlu submit`: tests/data/ignore.json holds both to it.
import ignore from "ignore";

export const IGNORE_FILE = ".danluignore";

export const DEFAULTS = [
  ".git/",
  ".hg/",
  ".svn/",
  "__pycache__/",
  "*.py[co]",
  ".venv/",
  "venv/",
  ".tox/",
  ".nox/",
  ".mypy_cache/",
  ".pytest_cache/",
  ".ruff_cache/",
  ".ipynb_checkpoints/",
  ".idea/",
  ".vscode/",
  ".DS_Store",
  "node_modules/",
  "*.egg-info/",
  ".em/",
  ".danlu.yml", // may hold an API key
];

/** Says of a path below the folder whether it is left out: by a rule of its own, or with a folder it is in. */
export function ignoring(lines: readonly string[] = []): (path: string) => boolean {
  const rules = ignore({ ignorecase: false }).add(DEFAULTS).add(lines);
  return (path) => rules.ignores(path);
}
