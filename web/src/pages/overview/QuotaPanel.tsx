import { useQuery } from "@tanstack/react-query";
import { quotasQuery } from "@/api/people";
import { useMe } from "@/api/session";
import { useProject } from "@/frame/ProjectPicker";
import { Found } from "@/parts/Found";
import { useTexts } from "@/texts/language";
import { showQuota } from "../projects/amounts";
import { Meter } from "./Meter";

/** What the project that is looked at, or one's first, may hold. Left out where nothing is limited. */
export function QuotaPanel() {
  const { overview: texts } = useTexts();
  const me = useMe();
  const project = useProject() ?? me.projects[0];
  const found = useQuery({ ...quotasQuery(project ?? ""), enabled: project !== undefined });
  const limited =
    found.data?.quotas.filter((one) => one.quota !== null && one.quota !== undefined) ?? [];
  if (project === undefined || (!limited.length && !found.error)) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.quota(project)}</h2>
      </div>
      <Found of={found} lines={2}>
        {() => (
          <div className="panel-body">
            {limited.map((one) => (
              <Meter
                key={one.resource}
                name={one.resource}
                told={texts.quotaUse(
                  showQuota(one.resource, one.firm),
                  showQuota(one.resource, one.quota ?? 0),
                )}
                part={one.quota ? one.firm / one.quota : 1}
              />
            ))}
          </div>
        )}
      </Found>
    </section>
  );
}
