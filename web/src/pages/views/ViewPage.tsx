import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import { viewQuery } from "@/api/views";
import { Loading, Problem } from "@/parts/Empty";

/** What a link to a saved view opens: its page, as it was saved. */
export function ViewPage() {
  const { id } = useParams({ from: "/inside/views/$id" });
  const { data, error, refetch } = useQuery(viewQuery(id));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading lines={8} />;
  const to = data.page === "compare" ? "/experiments/compare" : "/experiments";
  // what somebody else saved is read as any address is: by `validateSearch` of the page
  return <Navigate to={to} search={{ ...data.search, view: id } as never} replace />;
}
