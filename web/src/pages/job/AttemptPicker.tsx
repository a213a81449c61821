import type { Job } from "@/api/jobs";
import { useTexts } from "@/texts/language";

/** Which attempt is shown; nothing where there is but one. */
export function AttemptPicker(props: {
  job: Job;
  value: number;
  onChange: (attempt: number) => void;
}) {
  const { log: texts } = useTexts();
  if (props.job.attempts.length < 2) return null;
  return (
    <select
      className="input fit"
      aria-label={texts.attempt}
      value={props.value}
      onChange={(event) => {
        props.onChange(Number(event.target.value));
      }}
    >
      {props.job.attempts.map((one) => (
        <option key={one.number} value={one.number}>
          {texts.attemptNumber(one.number)}
        </option>
      ))}
    </select>
  );
}
