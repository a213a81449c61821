import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { useState } from "react";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { showBytes } from "@/parts/numbers";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { AttemptPicker } from "./AttemptPicker";
import { useLoadedJob } from "./loaded";

type Task = Schemas["TaskOut"];

export function TasksTab() {
  const job = useLoadedJob();
  const { job: texts } = useTexts();
  const search = useSearch({ from: "/inside/jobs/$id/tasks" });
  const navigate = useNavigate({ from: "/jobs/$id/tasks" });
  const [sort, setSort] = useState<Sort>();
  const number = search.attempt ?? job.attempt;
  const attempt = job.attempts.find((one) => one.number === number);
  if (!attempt) {
    return (
      <div className="panel">
        <Empty icon="cluster" title={texts.noTasksTitle}>
          <p>{texts.noTasks}</p>
        </Empty>
      </div>
    );
  }
  const columns: Column<Task>[] = [
    { id: "rank", title: texts.rank, sort: (task) => task.rank, cell: (task) => task.rank },
    { id: "role", title: texts.role, isWideOnly: true, cell: (task) => task.role },
    {
      id: "state",
      title: texts.state,
      sort: (task) => task.state,
      cell: (task) => <StateBadge state={task.state} />,
    },
    { id: "node", title: texts.node, sort: (task) => task.node, cell: (task) => task.node },
    {
      id: "devices",
      title: texts.devices,
      cell: (task) => task.device_ids.join(", ") || "–",
    },
    {
      id: "exit",
      title: texts.exitCode,
      isEnd: true,
      sort: (task) => task.exit_code,
      cell: (task) => task.exit_code ?? "–",
    },
    {
      id: "started",
      title: texts.started,
      isWideOnly: true,
      cell: (task) => <Ago at={task.started_at} />,
    },
    {
      id: "duration",
      title: texts.duration,
      isEnd: true,
      isWideOnly: true,
      cell: (task) => <Duration from={task.started_at} to={task.ended_at} />,
    },
    {
      id: "log",
      title: texts.log,
      isEnd: true,
      sort: (task) => task.log_bytes,
      cell: (task) => (
        <Link
          to="/jobs/$id/logs"
          params={{ id: job.id }}
          search={{ attempt: attempt.number, rank: task.rank }}
        >
          {showBytes(task.log_bytes)}
        </Link>
      ),
    },
  ];
  return (
    <>
      {job.attempts.length > 1 && (
        <div className="toolbar">
          <AttemptPicker
            job={job}
            value={number}
            onChange={(attempt) => {
              void navigate({ search: (before) => ({ ...before, attempt }), replace: true });
            }}
          />
        </div>
      )}
      <DataTable
        label={texts.tasks}
        rows={sort ? sorted(attempt.tasks, columns, sort) : failedFirst(attempt)}
        columns={columns}
        sort={sort}
        onSort={setSort}
        rowId={(task) => String(task.rank)}
      />
    </>
  );
}

/** The rank that failed first is what people look for. */
function failedFirst(attempt: Schemas["AttemptOut"]): Task[] {
  const isFirst = (task: Task) => task.rank === attempt.first_failed_rank;
  return [...attempt.tasks.filter(isFirst), ...attempt.tasks.filter((task) => !isFirst(task))];
}
