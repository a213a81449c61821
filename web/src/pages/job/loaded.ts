import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { jobQuery, type Job } from "@/api/jobs";

/** The job of this page. The page itself follows it; its tabs only look. */
export function useLoadedJob(): Job {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  return useSuspenseQuery(jobQuery(id)).data;
}
