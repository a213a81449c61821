import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { flavorsQuery, type Flavor } from "@/api/flavors";
import { jobQuery } from "@/api/jobs";
import { Loading, Notice, Problem } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { EMPTY, formOf } from "./form";
import { SubmitForm } from "./SubmitForm";
import { useProject } from "@/frame/ProjectPicker";
import { useMe } from "@/api/session";

export function SubmitPage() {
  const { submit: texts } = useTexts();
  const { from } = useSearch({ from: "/inside/submit" });
  const me = useMe();
  const project = useProject();
  const offered = useQuery(flavorsQuery);
  const source = useQuery({ ...jobQuery(from ?? ""), enabled: from !== undefined });
  if (from !== undefined && source.error) return <Problem error={source.error} />;
  if (from !== undefined && !source.data) return <Loading lines={8} />;
  if (offered.isPending) return <Loading lines={8} />;
  const cloned = source.data && formOf(source.data);
  const usable = me.projects.filter((name) => me.is_admin || me.roles[name] !== "viewer");
  const chosen = project !== undefined && usable.includes(project) ? project : (usable[0] ?? "");
  return (
    <div className="page">
      <div className="page-head">
        <h1>{from === undefined ? texts.title : texts.cloneTitle}</h1>
        {cloned && <span className="muted">{texts.cloneOf(cloned.name)}</span>}
      </div>
      {source.data && !cloned && <Notice kind="wait">{texts.cannotClone}</Notice>}
      <SubmitForm
        key={from ?? ""}
        initial={cloned ?? { ...EMPTY, project: chosen, flavor: cheapest(offered.data ?? []) }}
        isClone={cloned !== undefined}
        projects={usable}
      />
    </div>
  );
}

/** Where somebody offers flavors, people begin with one of them. */
function cheapest(flavors: readonly Flavor[]): string {
  const usable = flavors.filter((one) => one.is_enabled && one.num_total > 0);
  usable.sort((a, b) => Number(a.price_per_hour) - Number(b.price_per_hour));
  return usable[0]?.name ?? "";
}
