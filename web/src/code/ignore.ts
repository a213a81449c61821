// Which files of a code folder travel. The same rules as those of `danlu submit`: tests/data/ignore.json holds both to it.

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
  ".danlu.yml", // may hold an API key
];

type Rule = { isTakenBack: boolean; isFolder: boolean; pattern: RegExp };

/** Says of a path below the folder whether it is left out: by a rule of its own, or with a folder it is in. */
export function ignoring(lines: readonly string[] = []): (path: string) => boolean {
  const rules = [...DEFAULTS, ...lines].map(ruleOf).filter((rule) => rule !== undefined);
  const known = new Map<string, boolean>();
  const isOut = (path: string, isFolder: boolean): boolean => {
    const last = rules.findLast((rule) => (isFolder || !rule.isFolder) && rule.pattern.test(path));
    return last !== undefined && !last.isTakenBack;
  };
  const isFolderOut = (folder: string): boolean => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const up = folder.lastIndexOf("/");
    const is = (up > 0 && isFolderOut(folder.slice(0, up))) || isOut(folder, true);
    known.set(folder, is);
    return is;
  };
  return (path) => {
    const end = path.lastIndexOf("/");
    return (end > 0 && isFolderOut(path.slice(0, end))) || isOut(path, false);
  };
}

function ruleOf(line: string): Rule | undefined {
  let text = line.replace(/\r$/, "").replace(/(?<!\\)\s+$/, "");
  if (!text || text.startsWith("#")) return undefined;
  const isTakenBack = text.startsWith("!");
  if (isTakenBack) text = text.slice(1);
  const isFolder = text.endsWith("/");
  if (isFolder) text = text.slice(0, -1);
  // a slash within ties a pattern to the folder; without one it holds at any depth
  const isTied = text.includes("/");
  text = text.replace(/^\//, "");
  if (!text) return undefined;
  const pattern = new RegExp(`^${isTied ? "" : "(?:.*/)?"}${expressionOf(text)}$`, "su");
  return { isTakenBack, isFolder, pattern };
}

function expressionOf(text: string): string {
  let made = "";
  for (let at = 0; at < text.length; at++) {
    const rest = text.slice(at);
    const several = /^\*\*\/|^\*\*$|^\*+/.exec(rest)?.[0];
    const set = /^\[([!^]?)(\]?[^\]]*)\]/.exec(rest);
    if (several !== undefined) {
      made += { "**/": "(?:.*/)?", "**": ".*" }[several] ?? "[^/]*";
      at += several.length - 1;
    } else if (set) {
      made += `[${set[1] ? "^/" : ""}${(set[2] ?? "").replace(/[\\\][&~]/g, "\\$&")}]`;
      at += set[0].length - 1;
    } else if (rest.startsWith("\\") && rest.length > 1) {
      made += plain(rest[1] ?? "");
      at += 1;
    } else {
      made += rest.startsWith("?") ? "[^/]" : plain(rest[0] ?? "");
    }
  }
  return made;
}

function plain(character: string): string {
  return /[\^$\\.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}
