import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "danlu.theme";
const listeners = new Set<() => void>();

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, read), set];
}

/** Whether what is drawn by hand (charts) should be light on dark. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

function set(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // storage may be forbidden; then it holds until the page is left
  }
  for (const listener of listeners) listener();
}

function read(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === "light" || theme === "dark" ? theme : "system";
}

function isDark(): boolean {
  const theme = read();
  return theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

function subscribe(listener: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}
