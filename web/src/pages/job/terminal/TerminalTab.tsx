import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { isOver } from "@/api/jobs";
import { Button } from "@/parts/Button";
import { Empty } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { useLoadedJob } from "../loaded";
import { Shell } from "./Shell";

/** A shell in one of the job's running tasks. */
export function TerminalTab() {
  const job = useLoadedJob();
  const { terminal: texts, log } = useTexts();
  const search = useSearch({ from: "/inside/jobs/$id/terminal" });
  const navigate = useNavigate({ from: "/jobs/$id/terminal" });
  const [opened, setOpened] = useState(0);
  const attempt = job.attempts.find((one) => one.number === job.attempt);
  const tasks = attempt?.tasks ?? [];
  const rank = search.rank ?? 0;
  const isRunning = !isOver(job.state) && tasks.length > 0;
  if (!isRunning && !opened)
    return (
      <div className="panel">
        <Empty icon="terminal" title={texts.notRunningTitle}>
          <p>{texts.notRunning}</p>
        </Empty>
      </div>
    );
  return (
    <>
      <div className="toolbar">
        {tasks.length > 1 && (
          <select
            className="input fit"
            aria-label={log.rank}
            value={rank}
            onChange={(event) => {
              setOpened(0);
              void navigate({ search: { rank: Number(event.target.value) }, replace: true });
            }}
          >
            {tasks.map((task) => (
              <option key={task.rank} value={task.rank}>
                {log.rankNumber(task.rank, task.role)} · {task.node}
              </option>
            ))}
          </select>
        )}
        {isRunning && (
          <Button
            kind={opened ? "normal" : "primary"}
            icon="terminal"
            onClick={() => {
              setOpened(opened + 1);
            }}
          >
            {opened ? texts.again : texts.open}
          </Button>
        )}
        <span className="muted small">{texts.about}</span>
      </div>
      {opened > 0 && <Shell key={`${String(rank)} ${String(opened)}`} job={job.id} rank={rank} />}
    </>
  );
}
