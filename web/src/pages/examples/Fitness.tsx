import type { ExampleRow } from "@/api/examples";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";

/** Whether an example would run here, and what is missing if not. */
export function Fitness(props: { example: ExampleRow }) {
  const { examples: texts, messages } = useTexts();
  const { needs, is_job } = props.example;
  if (!is_job) return <span className="badge">{texts.script}</span>;
  const lacking = needs.filter((need) => need.is_met === false);
  if (!lacking.length) return <span className="badge ok">{texts.runsHere}</span>;
  const why = lacking.map((need) => told(messages, need.said, need.why ?? "")).join(messages.and);
  return (
    <span className="badge wait" title={why}>
      {texts.lacks(lacking.map((need) => need.name).join(", "))}
    </span>
  );
}
