import { Code } from "@/parts/Code";
import { useTexts } from "@/texts/language";
import { useLoadedJob } from "./loaded";
import { specAsYaml } from "./spec";

export function SpecTab() {
  const job = useLoadedJob();
  const { job: texts } = useTexts();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.spec}</h2>
        <span className="muted">{texts.specText}</span>
      </div>
      <div className="panel-body">
        <Code text={specAsYaml(job.spec)} label={texts.spec} />
      </div>
    </section>
  );
}
