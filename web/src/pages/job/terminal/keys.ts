// What a terminal sends for a key: the sequences of xterm.
const ESCAPE = "\u001b";
const ARROWS: Record<string, string> = {
  ArrowUp: "A",
  ArrowDown: "B",
  ArrowRight: "C",
  ArrowLeft: "D",
  End: "F",
  Home: "H",
};
const NUMBERED: Record<string, number> = { Insert: 2, Delete: 3, PageUp: 5, PageDown: 6 };
const PLAIN: Record<string, string> = {
  Enter: "\r",
  Backspace: "\u007f",
  Tab: "\t",
  Escape: ESCAPE,
};

type Key = {
  key: string;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
};

/** Undefined for keys that are text, or the browser's own. Shift-Tab is the way out of the terminal. */
export function sentBy(key: Key, isApplication: boolean): string | undefined {
  if (key.metaKey || (key.key === "Tab" && key.shiftKey)) return undefined;
  const arrow = ARROWS[key.key];
  if (arrow !== undefined) {
    const modifiers = 1 + (key.shiftKey ? 1 : 0) + (key.altKey ? 2 : 0) + (key.ctrlKey ? 4 : 0);
    if (modifiers > 1) return `${ESCAPE}[1;${String(modifiers)}${arrow}`;
    return ESCAPE + (isApplication ? "O" : "[") + arrow;
  }
  const number = NUMBERED[key.key];
  if (number !== undefined) return `${ESCAPE}[${String(number)}~`;
  const plain = PLAIN[key.key];
  if (plain !== undefined) return key.altKey ? ESCAPE + plain : plain;
  // copying and pasting stay the browser's: Ctrl-Shift-C and Ctrl-Shift-V
  if (key.key.length !== 1 || (key.ctrlKey && key.shiftKey)) return undefined;
  if (key.ctrlKey) return controlOf(key.key);
  return key.altKey ? ESCAPE + key.key : undefined;
}

/** Ctrl-A is 1, Ctrl-Z 26; Ctrl-[, Ctrl-\, Ctrl-] and the two after them go on from there. */
function controlOf(key: string): string | undefined {
  const code = key === " " ? 64 : key.toUpperCase().charCodeAt(0);
  return code >= 64 && code <= 95 ? String.fromCharCode(code - 64) : undefined;
}
