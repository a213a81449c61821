import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { usableExampleQuery } from "@/api/examples";
import { flavorsQuery, type Flavor } from "@/api/flavors";
import { jobQuery } from "@/api/jobs";
import { useMe } from "@/api/session";
import { useProject } from "@/frame/ProjectPicker";
import { Loading, Problem } from "@/parts/Empty";
import { draftKey } from "@/parts/draft";
import { useSpeech } from "@/texts/language";
import { EMPTY, formOf, formOfSpec, type Form } from "./form";
import { NoProject } from "./NoProject";
import { SubmitForm } from "./SubmitForm";

export function SubmitPage() {
  const { language, texts: all } = useSpeech();
  const { submit: texts, examples } = all;
  const { from, example } = useSearch({ from: "/inside/submit" });
  const me = useMe();
  const project = useProject();
  const offered = useQuery(flavorsQuery);
  const job = useQuery({ ...jobQuery(from ?? ""), enabled: from !== undefined });
  const used = useQuery({ ...usableExampleQuery(example ?? ""), enabled: example !== undefined });
  const usable = me.projects.filter((name) => me.is_admin || me.roles[name] !== "viewer");
  const chosen = project !== undefined && usable.includes(project) ? project : (usable[0] ?? "");

  if (job.error) return <Problem error={job.error} onRetry={() => void job.refetch()} />;
  if (used.error) return <Problem error={used.error} onRetry={() => void used.refetch()} />;
  if (!usable.length) return <NoProject />;
  if (offered.isPending) return <Loading lines={8} />;
  let initial: Form = { ...EMPTY, project: chosen, flavor: cheapest(offered.data ?? []) };
  let told: string | undefined;
  if (from !== undefined) {
    if (!job.data) return <Loading lines={8} />;
    initial = formOf(job.data);
    told = texts.cloneOf(initial.name);
  } else if (example !== undefined) {
    if (!used.data)
      return (
        <div className="page">
          <p className="muted">{examples.preparing}</p>
          <Loading lines={8} />
        </div>
      );
    initial = { ...formOfSpec(used.data.spec), project: chosen };
    told = examples.filled(used.data.example.title[language]);
  }
  return (
    <div className="page">
      <div className="page-head">
        <h1>{from === undefined ? texts.title : texts.cloneTitle}</h1>
        {told !== undefined && <span className="muted">{told}</span>}
      </div>
      <SubmitForm
        key={`${from ?? ""} ${example ?? ""}`}
        initial={initial}
        isClone={told !== undefined}
        projects={usable}
        draft={draftKey(me.name, from ?? example ?? "")}
      />
    </div>
  );
}

/** Where there are flavors, the form begins with one of them. */
function cheapest(flavors: readonly Flavor[]): string {
  const usable = flavors.filter((one) => one.is_enabled && one.num_total > 0);
  usable.sort((a, b) => Number(a.price_per_hour) - Number(b.price_per_hour));
  return usable[0]?.name ?? "";
}
