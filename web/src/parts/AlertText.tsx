import type { Alert } from "@/api/notices";
import { showBytes } from "@/parts/numbers";
import { showSeconds } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";

/** What is wrong, in the reader's language. */
export function AlertText(props: { kind: Alert["kind"]; details: Alert["details"] }) {
  const { notices } = useTexts();
  const locale = useLocale();
  const words = Object.fromEntries(
    Object.entries(props.details).map(([name, value]) => [name, inWords(name, value, locale)]),
  );
  return <>{notices.alerts[props.kind](words)}</>;
}

function inWords(name: string, value: string | number | null, locale: string): string {
  if (typeof value === "number" && name.endsWith("_bytes")) return showBytes(value);
  if (typeof value === "number" && name.endsWith("_seconds")) return showSeconds(value, locale);
  return String(value ?? "");
}
