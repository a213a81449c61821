// Colours for reading: enough to tell comments, texts and words of the language apart, in the languages that examples have.

type Kind = "comment" | "text" | "word" | "key" | "";
export type Piece = readonly [kind: Kind, text: string];

const PYTHON =
  "and as assert async await break class continue def del elif else except finally for from global if import in is lambda None nonlocal not or pass raise return True False try while with yield";
const SHELL =
  "case do done elif else esac export fi for function if in local return set then while";
const words = (list: string) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;

const RULES: Record<string, RegExp> = {
  py: new RegExp(
    `(?<text>[rbf]*(?:"""[^]*?"""|'''[^]*?'''|"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'))|(?<comment>#.*)|(?<word>${words(PYTHON)})`,
    "g",
  ),
  sh: new RegExp(
    `(?<comment>(?<=^|\\s)#.*)|(?<text>"(?:\\\\.|[^"\\\\])*"|'[^']*')|(?<word>${words(SHELL)})`,
    "gm",
  ),
  yml: /(?<comment>(?<=^|\s)#.*)|(?<text>"(?:\\.|[^"\\])*"|'[^']*')|(?<key>^[\s-]*[\w./:-]+(?=:(?:\s|$)))/gm,
};
RULES.yaml = RULES.yml as RegExp;

/** The lines of a file in pieces, each with what it is. Together they are the file. */
export function coloured(text: string, name: string): Piece[][] {
  const rule = RULES[name.slice(name.lastIndexOf(".") + 1)];
  const pieces: Piece[] = [];
  let end = 0;
  for (const found of rule ? text.matchAll(rule) : []) {
    pieces.push(["", text.slice(end, found.index)]);
    const kind = Object.entries(found.groups ?? {}).find(([, one]) => one !== undefined)?.[0];
    pieces.push([(kind ?? "") as Kind, found[0]]);
    end = found.index + found[0].length;
  }
  pieces.push(["", text.slice(end)]);
  return inLines(pieces);
}

function inLines(pieces: readonly Piece[]): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const [kind, text] of pieces) {
    for (const [number, part] of text.split("\n").entries()) {
      if (number) lines.push([]);
      if (part) lines.at(-1)?.push([kind, part]);
    }
  }
  return lines;
}
