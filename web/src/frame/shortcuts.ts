import { useEffect, useEffectEvent } from "react";

const TYPED_IN = "input, textarea, select, [contenteditable]";

/** Ctrl-K anywhere; `/` and `?` outside of text fields. */
export function usePaletteKeys(open: () => void): void {
  const act = useEffectEvent(open);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.matches(TYPED_IN);
      const isCommand = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      const isSign = isPlain && (event.key === "/" || event.key === "?") && !isTyping;
      if (!isCommand && !isSign) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
    };
  }, []);
}
