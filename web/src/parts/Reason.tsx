import type { Schemas } from "@/api/client";
import { useTexts } from "@/texts/language";

/** Why, in a few words of the reader's language; on pointing, all that the server says. */
export function Reason(props: { reason: Schemas["Reason"] }) {
  const { reasons } = useTexts();
  const { code, message } = props.reason;
  return <span title={message}>{reasons[code]?.cause ?? message}</span>;
}
