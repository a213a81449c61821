export const terminal = {
  title: "Terminal",
  input: "Terminal input",
  open: "Open terminal",
  again: "New terminal",
  about: "A shell in the running task. Press Shift+Tab to leave it; closing this page ends it.",
  notRunningTitle: "Not running",
  notRunning: "A terminal can be opened while the job runs.",
  ended: (code: number) => `The shell ended with code ${String(code)}.`,
};
