import type { Schemas } from "@/api/client";
import type { JobSummary } from "@/api/jobs";

type Place = Pick<Schemas["WhyOut"], "num_ahead" | "num_projects_ahead">;

/** Waiting jobs in the order in which the scheduler looks at them, as far as it told; then by priority and age. */
export function inOrder<Job extends Pick<JobSummary, "id" | "priority">>(
  jobs: readonly Job[],
  places: ReadonlyMap<string, Place>,
): Job[] {
  const key = (job: Job) => {
    const place = places.get(job.id);
    return [
      place ? (place.num_projects_ahead ?? 0) : Infinity,
      place ? (place.num_ahead ?? 0) : Infinity,
      -job.priority,
    ];
  };
  return [...jobs].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    for (const [index, value] of left.entries()) {
      const other = right[index] ?? 0;
      if (value !== other) return value - other;
    }
    return a.id < b.id ? -1 : 1;
  });
}
