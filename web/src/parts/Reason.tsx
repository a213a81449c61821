import type { Schemas } from "@/api/client";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";

/** Why, in a few words of the reader's language; on pointing, all that the server says. */
export function Reason(props: { of: Pick<Schemas["JobSummary"], "reason" | "said"> }) {
  const { reasons, messages } = useTexts();
  const { code, message } = props.of.reason;
  const all = told(messages, props.of.said, message);
  return <span title={all}>{reasons[code]?.cause ?? message}</span>;
}
