import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { frameworksQuery, type Framework } from "@/api/flavors";
import { ProblemLine } from "@/parts/Empty";
import { SelectField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

const OWN = "";
const IMAGE = ":image"; // no name begins so

/** A framework, an image, or the node's own Python. Without frameworks, there is only the field for the image. */
export function EnvironmentField(props: { part: Part }) {
  const { submit, flavors: texts } = useTexts();
  const { form, wrong, set } = props.part;
  const { data, error, refetch } = useQuery(frameworksQuery);
  const [wantsImage, setWantsImage] = useState(form.image !== "");
  const offered = (data ?? []).filter((one) => one.is_enabled && one.purpose !== "inference");
  const chosen = offered.find((one) => one.name === form.framework);
  const image = (
    <TextField
      label={submit.image}
      isOptional={!wantsImage}
      hint={submit.imageHint}
      value={form.image}
      wrong={wrong.image}
      onChange={(event) => {
        set({ image: event.target.value });
      }}
    />
  );
  const problem = error && <ProblemLine error={error} onRetry={() => void refetch()} />;
  if (!offered.length && !form.framework)
    return (
      <>
        {problem}
        {image}
      </>
    );
  const isGone = form.framework !== "" && data !== undefined && !chosen;
  return (
    <div className={styles.fields}>
      {problem}
      <SelectField
        label={texts.environment}
        hint={chosen ? aboutOf(chosen, texts.ownChoice) : texts.environmentHint}
        value={form.framework || (wantsImage ? IMAGE : OWN)}
        wrong={wrong.framework}
        choices={[
          [OWN, texts.ownChoice],
          ...offered.map((one) => [one.name, one.title || one.name] as const),
          ...(isGone ? [[form.framework, `${form.framework} (${texts.gone})`] as const] : []),
          [IMAGE, texts.imageChoice],
        ]}
        onChange={(event) => {
          const { value } = event.target;
          setWantsImage(value === IMAGE);
          set({
            framework: value === IMAGE ? "" : value,
            ...(value !== IMAGE && { image: "" }),
            ...launchFor(offered, value, form.launch),
          });
        }}
      />
      {wantsImage && image}
    </div>
  );
}

/** A framework that does not suit the chosen launch mode brings one that it does suit. */
function launchFor(
  offered: readonly Framework[],
  name: string,
  launch: string,
): { launch?: string } {
  const modes: readonly string[] = offered.find((one) => one.name === name)?.launch ?? [];
  return modes[0] === undefined || modes.includes(launch) ? {} : { launch: modes[0] };
}

function aboutOf(framework: Framework, own: string): string {
  return framework.description || (framework.image ?? own);
}
