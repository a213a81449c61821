import { useEffect, useEffectEvent, useRef, useState } from "react";

const AGAIN_MS = 2_000;

/** Whether something is in sight or was; what has been drawn stays. */
export function useSeen() {
  const ref = useRef<HTMLElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    if (!ref.current || isSeen) return undefined;
    const watcher = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setIsSeen(true);
      },
      { rootMargin: "200px" },
    );
    watcher.observe(ref.current);
    return () => {
      watcher.disconnect();
    };
  }, [isSeen]);
  return [ref, isSeen] as const;
}

/** Does something again when a version changes, with a pause between, and surely after the last change. */
export function useAgain(version: string | number | undefined, action: () => void): void {
  const act = useEffectEvent(action);
  const known = useRef(version);
  const lastAt = useRef(0);
  useEffect(() => {
    const before = known.current;
    known.current = version;
    if (version === undefined || before === undefined || before === version) return undefined;
    const timer = setTimeout(
      () => {
        lastAt.current = Date.now();
        act();
      },
      Math.max(0, AGAIN_MS - (Date.now() - lastAt.current)),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [version]);
}
