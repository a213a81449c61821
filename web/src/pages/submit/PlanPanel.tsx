import { Code } from "@/parts/Code";
import { Loading } from "@/parts/Empty";
import type { Plan } from "@/api/plan";
import { showPrice } from "@/parts/money";
import { useLocale, useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { specAsYaml } from "../job/spec";
import styles from "./submit.module.css";
import { shellLine } from "@/parts/shell";

/** What would be started, and the same as a file. */
export function PlanPanel(props: {
  plan: Plan | undefined;
  isChecking: boolean;
  spec: Record<string, unknown>;
  isBlank: boolean;
}) {
  const { submit: texts, flavors, messages } = useTexts();
  const locale = useLocale();
  const { plan } = props;
  const task = plan?.tasks[0];
  return (
    <>
      <section className="panel" aria-busy={props.isChecking}>
        <div className="panel-head">
          <h2>{texts.plan}</h2>
          {plan?.price_per_hour && plan.currency && (
            <strong className="number">
              {flavors.allNodes(
                flavors.perHour(showPrice(plan.price_per_hour, plan.currency, locale)),
              )}
            </strong>
          )}
        </div>
        {task && plan ? (
          <div className={`panel-body ${styles.seen ?? ""}`}>
            <div>
              <h3>{texts.planRuns}</h3>
              <Code text={shellLine(task.command)} isWrapped label={texts.planRuns} />
              <p className="muted small wrap">
                {texts.planIn} <code>{task.workdir}</code>
              </p>
            </div>
            {plan.explanation && (
              <p className="small">
                {texts.planSucceeds}
                {messages.of}
                <span className="muted">
                  {told(messages, plan.explanation.succeeds_said, plan.explanation.succeeds)}
                </span>
              </p>
            )}
            <div>
              <h3>
                {texts.planVariables}{" "}
                <span className="faint number">{Object.keys(task.env).length}</span>
              </h3>
              <dl tabIndex={0} aria-label={texts.planVariables}>
                {Object.entries(task.env).map(([name, value]) => {
                  const about = plan.explanation?.tasks[0]?.variables[name];
                  return (
                    <div key={name} title={about && told(messages, about.what_said, about.what)}>
                      <dt>{name}</dt>
                      <dd>{value}</dd>
                    </div>
                  );
                })}
              </dl>
            </div>
            {Object.keys(task.files).length > 0 && (
              <div>
                <h3>{texts.planFiles}</h3>
                {Object.keys(task.files).map((path) => (
                  <div key={path} className="small wrap">
                    <code>{path}</code>
                  </div>
                ))}
              </div>
            )}
            {plan.notes.length > 0 && (
              <div>
                <h3>{texts.planNotes}</h3>
                <ul className="muted small">
                  {plan.notes.map((note, at) => (
                    <li key={note}>{told(messages, plan.notes_said?.[at], note)}</li>
                  ))}
                </ul>
              </div>
            )}
          </div>
        ) : props.isChecking && !props.isBlank ? (
          <Loading lines={5} />
        ) : (
          <p className="panel-body muted">{props.isBlank ? texts.planEmpty : texts.planWrong}</p>
        )}
      </section>
      <section className="panel">
        <div className="panel-head">
          <h2>{texts.file}</h2>
          <code className="faint">{texts.fileHint}</code>
        </div>
        <div className="panel-body">
          <Code text={specAsYaml(props.spec)} label={texts.file} />
        </div>
      </section>
    </>
  );
}
