import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { projectsQuery } from "@/api/people";
import { useMe } from "@/api/session";
import { useTexts } from "@/texts/language";

/** The project that is looked at, from the address; undefined for all. */
export function useProject(): string | undefined {
  return useSearch({ strict: false, select: (search) => search.project });
}

export function ProjectPicker() {
  const { frame } = useTexts();
  const me = useMe();
  const chosen = useProject();
  const navigate = useNavigate();
  const { data } = useQuery(projectsQuery);
  const names = data?.map((project) => project.name) ?? [...me.projects];
  if (chosen !== undefined && !names.includes(chosen)) names.push(chosen);
  if (!names.length) return <p className="small muted">{frame.noProject}</p>;
  return (
    <select
      className="input"
      aria-label={frame.project}
      value={chosen ?? ""}
      onChange={(event) => {
        const project = event.target.value || undefined;
        void navigate({ to: ".", search: (before) => ({ ...before, project }) });
      }}
    >
      <option value="">{frame.allProjects}</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
