import { hiddenIn, withoutHidden } from "@/foreign/visible";

const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command as a line for a shell: each word arrives as it is, spaces and line ends included. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  if (hiddenIn(word).length)
    return `$'${withoutHidden(word.replace(/[\\']/g, "\\$&"), asShellEscape)}'`;
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function asShellEscape(character: string): string {
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
}
