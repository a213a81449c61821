// Notices shown by the browser itself, also while another tab is in front. Off until somebody asks for them.
import { useEffect, useRef, useState } from "react";
import type { Notice } from "@/api/notices";
import { highestOf } from "@/parts/numbers";

const KEY = "danlu.browserNotices";

/** Whether the browser can show them at all: it does so on secure pages only. */
export function canNotify(): boolean {
  return "Notification" in window;
}

export function useBrowserNotices(): [isOn: boolean, set: (isOn: boolean) => Promise<boolean>] {
  const [isOn, setIsOn] = useState(
    () => canNotify() && Notification.permission === "granted" && kept() === "on",
  );
  const set = async (wanted: boolean) => {
    const isAllowed = wanted && (await Notification.requestPermission()) === "granted";
    keep(isAllowed ? "on" : "off");
    setIsOn(isAllowed);
    return isAllowed === wanted;
  };
  return [isOn, set];
}

/** Shows what has come since the page was opened, once each. */
export function useShownByBrowser(
  isOn: boolean,
  items: readonly Notice[] | undefined,
  words: (notice: Notice) => { title: string; body: string },
  open: (notice: Notice) => void,
): void {
  const newest = useRef<number>(undefined);
  useEffect(() => {
    if (!items) return;
    const before = newest.current;
    newest.current = highestOf([before ?? 0, ...items.map((one) => one.id)]);
    if (!isOn || before === undefined) return;
    for (const notice of items.filter((one) => one.id > before)) {
      const { title, body } = words(notice);
      const shown = new Notification(title, { body, tag: `danlu-${String(notice.id)}` });
      shown.onclick = () => {
        window.focus();
        open(notice);
      };
    }
  }, [isOn, items, words, open]);
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be forbidden
  }
}

function keep(value: string): void {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // then it holds until the page is left
  }
}
