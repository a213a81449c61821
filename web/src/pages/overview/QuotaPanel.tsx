import { useQuery } from "@tanstack/react-query";
import { api, ok, type Schemas } from "@/api/client";
import { useMe } from "@/api/session";
import { useProject } from "@/frame/ProjectPicker";
import { showBytes, showNumber } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { Meter } from "./Meter";

/** What the project that is looked at, or one's first, may hold. Left out where nothing is limited. */
export function QuotaPanel() {
  const { overview: texts } = useTexts();
  const me = useMe();
  const project = useProject() ?? me.projects[0];
  const { data } = useQuery({
    queryKey: ["quotas", project],
    queryFn: () =>
      ok(
        api.GET("/api/v1/projects/{project}/quotas", {
          params: { path: { project: project ?? "" } },
        }),
      ),
    enabled: project !== undefined,
    refetchInterval: 15_000,
  });
  const limited = data?.quotas.filter((one) => one.quota !== null && one.quota !== undefined) ?? [];
  if (project === undefined || !limited.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.quota(project)}</h2>
      </div>
      <div className="panel-body">
        {limited.map((one) => (
          <Meter
            key={one.resource}
            name={one.resource}
            told={texts.quotaUse(amount(one, one.firm), amount(one, one.quota ?? 0))}
            part={one.quota ? one.firm / one.quota : 1}
          />
        ))}
      </div>
    </section>
  );
}

function amount(quota: Schemas["QuotaOut"], value: number): string {
  return quota.resource === "memory" ? showBytes(value) : showNumber(value);
}
