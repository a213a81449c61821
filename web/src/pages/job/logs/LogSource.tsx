import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { useTexts } from "@/texts/language";
import { AttemptPicker } from "../AttemptPicker";

const ALL = "all";

/** Which attempt and which rank; without a rank, all of them. */
export function LogSource(props: { job: Job; attempt: number; rank: number | undefined }) {
  const { job } = props;
  const { log: texts } = useTexts();
  const search = useSearch({ from: "/inside/jobs/$id/logs" });
  const navigate = useNavigate({ from: "/jobs/$id/logs" });
  const attempt = job.attempts.find((one) => one.number === props.attempt);
  return (
    <>
      <AttemptPicker
        job={job}
        value={props.attempt}
        onChange={(number) => {
          void navigate({
            search: { ...search, attempt: number, rank: undefined, line: undefined },
          });
        }}
      />
      {(attempt?.tasks.length ?? 0) > 1 && (
        <select
          className="input fit"
          aria-label={texts.rank}
          value={props.rank ?? ALL}
          onChange={(event) => {
            const isAll = event.target.value === ALL;
            void navigate({
              search: {
                ...search,
                rank: isAll ? undefined : Number(event.target.value),
                all: isAll || undefined,
                line: undefined,
              },
            });
          }}
        >
          <option value={ALL}>{texts.allRanks}</option>
          {attempt?.tasks.map((task) => (
            <option key={task.rank} value={task.rank}>
              {texts.rankNumber(task.rank, task.role)}
              {task.rank === attempt.first_failed_rank ? ` · ${texts.failedFirst}` : ""}
            </option>
          ))}
        </select>
      )}
    </>
  );
}
