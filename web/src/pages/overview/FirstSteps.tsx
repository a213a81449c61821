import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMe } from "@/api/session";
import { bucketsQuery } from "@/api/store";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import styles from "./overview.module.css";

/** What somebody new can do, in order; what is done is ticked. */
export function FirstSteps() {
  const { overview: texts } = useTexts();
  const me = useMe();
  const { data: buckets } = useQuery(bucketsQuery);
  const isMember = me.is_admin || me.projects.length > 0;
  return (
    <section className="panel" aria-labelledby="first-steps">
      <div className="panel-head">
        <h2 id="first-steps">{texts.steps}</h2>
      </div>
      <ol className={styles.steps}>
        <Step isDone={isMember} title={texts.stepProject}>
          {isMember ? (
            me.projects.join(", ")
          ) : (
            <Link to="/projects">{texts.stepProjectNone(me.name)}</Link>
          )}
        </Step>
        <Step title={texts.stepExample}>
          <Link to="/examples">{texts.stepExampleLink}</Link>
        </Step>
        <Step title={texts.stepData}>
          <Link to="/store" search={buckets?.[0] ? { bucket: buckets[0].name } : {}}>
            {texts.stepDataLink}
          </Link>
        </Step>
        <Step title={texts.stepShell}>
          <a href="/signin/cli" target="_blank" rel="noreferrer">
            {texts.stepShellLink}
          </a>
        </Step>
      </ol>
    </section>
  );
}

function Step(props: { title: string; isDone?: boolean; children: ReactNode }) {
  const { overview: texts } = useTexts();
  return (
    <li data-done={props.isDone ?? false}>
      <span className={styles.tick}>
        {props.isDone && <Icon name="check" />}
        {props.isDone && <span className="hidden-visually">{texts.stepDone}</span>}
      </span>
      <div>
        <strong>{props.title}</strong>
        <p className="muted small wrap">{props.children}</p>
      </div>
    </li>
  );
}
