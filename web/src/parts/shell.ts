const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command as a line for a shell: each word arrives as it is, spaces and line ends included. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
