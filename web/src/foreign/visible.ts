// What other people named, said or logged is shown as it is, and nothing in it can hide, turn round or look like
// something else: characters that cannot be seen are written out as escapes.

/** Scripts in which joiners are part of the spelling; elsewhere they only make two names look alike. */
const JOINING_SCRIPTS =
  "Arab Syrc Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Mong".split(" ");
const BEFORE_JOINER = [
  ...JOINING_SCRIPTS.map((script) => `\\p{scx=${script}}`),
  "\\p{Extended_Pictographic}|\\p{EMod}|\\uFE0F", // pictures made of several
].join("|");
const JOINER = "\\u200C|\\u200D";
const SEEN = `${JOINER}|[\\uFE00-\\uFE0F]|[\\u0600-\\u0605]|\\u06DD`;

const HIDDEN = new RegExp(
  [
    "[^\\P{Cc}\\n\\t]|\\p{Zl}|\\p{Zp}|\\p{Cs}", // controls, separators of lines, halves of characters
    `(?!${SEEN})[\\p{Cf}\\p{DI}]`, // marks of direction, and what takes no room
    `(?<!${BEFORE_JOINER})(?:${JOINER})`,
    "(?<=\\p{M}{4})\\p{M}", // more marks on a letter than any language has would cover other lines
  ].join("|"),
  "gu",
);

/** Whether all of it is plain, in the scripts of this console. Most texts are, and need no closer look. */
const PLAIN =
  /^[\n\t -~\u00A1-\u00AC\u00AE-\u02FF\u2010-\u2027\u2030-\u205E\u3000-\u312F\u3190-\u9FFF\uFF00-\uFF9F]*$/;
const RIGHT_TO_LEFT =
  /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}\p{sc=Samr}\p{sc=Mand}]/u;
const LONGEST_WORD = 120;
const LONG_WORD = /(\S{70})\S{11,}(\S{39})/gu;
const ISOLATE = "\u2066";
const POP_ISOLATE = "\u2069";

/** The text with its hidden characters written out (`\u202E`). Letters that run from right to left do so among
 * themselves and do not move what stands beside them. A second time it changes nothing. */
export function visible(text: string): string {
  if (PLAIN.test(text) || isIsolated(text)) return text;
  const shown = text.replace(HIDDEN, escaped);
  return RIGHT_TO_LEFT.test(shown) ? `${ISOLATE}${shown}${POP_ISOLATE}` : shown;
}

/** As `visible`, for text on one line. The middle of very long words is left out. */
export function visibleLine(text: string): string {
  const line = visible(text).replace(/[\n\t]/g, (end) => (end === "\n" ? "\\n" : "\\t"));
  return line.length > LONGEST_WORD ? line.replace(LONG_WORD, "$1…$2") : line;
}

/** The hidden characters of a text, each once, as `U+202E`. */
export function hiddenIn(text: string): string[] {
  if (PLAIN.test(text)) return [];
  const found = new Set(text.match(HIDDEN) ?? []);
  return [...found].map((one) => `U+${hex(one).padStart(4, "0")}`);
}

/** The text with each hidden character replaced. */
export function withoutHidden(text: string, replace: (character: string) => string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, replace);
}

function escaped(character: string): string {
  const code = hex(character);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

function isIsolated(text: string): boolean {
  if (!text.startsWith(ISOLATE) || !text.endsWith(POP_ISOLATE)) return false;
  const inner = text.slice(1, -1);
  return inner.search(HIDDEN) < 0;
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
}
