import { useParams } from "@tanstack/react-router";
import { useJob } from "@/api/jobs";
import { Loading, Problem } from "@/parts/Empty";
import { StateBadge } from "@/parts/StateBadge";

export function JobPage() {
  const { id } = useParams({ from: "/inside/jobs/$id" });
  const { data, error, refetch } = useJob(id);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="page">
      <div className="page-head">
        <h1>{data.name}</h1>
        <StateBadge state={data.state} />
      </div>
    </div>
  );
}
