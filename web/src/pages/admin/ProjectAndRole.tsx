import { useQuery } from "@tanstack/react-query";
import { projectsQuery, ROLES } from "@/api/people";
import { ProblemLine } from "@/parts/Empty";
import { SelectField } from "@/parts/Field";
import { useTexts } from "@/texts/language";

/** The project that a user joins, and the role: the fields `project` and `role` of a form. */
export function ProjectAndRole(props: { wrong?: string }) {
  const { admin: texts } = useTexts();
  const { data, error, refetch } = useQuery(projectsQuery);
  const names = (data ?? []).filter((one) => !one.is_archived).map((one) => one.name);
  return (
    <>
      {error && <ProblemLine error={error} onRetry={() => void refetch()} />}
      <SelectField
        label={texts.project}
        name="project"
        wrong={props.wrong}
        key={names[0] ?? ""}
        defaultValue={names.includes("default") ? "default" : names[0]}
        hint={texts.noProjectHint}
        choices={[["", texts.noProject], ...names.map((name) => [name, name] as const)]}
      />
      <SelectField
        label={texts.role}
        name="role"
        defaultValue="member"
        choices={ROLES.map((role) => [role, texts.roles[role]] as const)}
      />
    </>
  );
}
