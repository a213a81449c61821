import { useLayoutEffect, type CSSProperties, type RefObject } from "react";

/** Where a pinned cell stays; undefined for one that is not pinned. */
export function pinOf(at: number, count: number): CSSProperties | undefined {
  return at < count ? { left: `var(--pin-${String(at)})` } : undefined;
}

/** Measures how far from the left the first columns stay: their widths are known once they are drawn. */
export function usePinned(
  scroll: RefObject<HTMLDivElement | null>,
  count: number,
  columns: readonly unknown[],
): void {
  useLayoutEffect(() => {
    const box = scroll.current;
    const heads = [...(box?.querySelectorAll<HTMLElement>("thead th") ?? [])].slice(0, count);
    if (!box || !heads.length) return undefined;
    const place = () => {
      let left = 0;
      for (const [at, head] of heads.entries()) {
        box.style.setProperty(`--pin-${String(at)}`, `${String(left)}px`);
        left += head.offsetWidth;
      }
    };
    place();
    const watcher = new ResizeObserver(place);
    for (const head of heads) watcher.observe(head);
    return () => {
      watcher.disconnect();
    };
  }, [scroll, count, columns]);
}
