import { Link } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { useTexts } from "@/texts/language";
import { Button, buttonClass } from "./Button";
import { Icon, type IconName } from "./Icon";

/** Nothing to show, and what to do about it. */
export function Empty(props: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
      {props.actions && <div className="actions">{props.actions}</div>}
    </div>
  );
}

/** What went wrong, in the server's own words, and a way on. */
export function Problem(props: { error: unknown; onRetry?: () => void }) {
  const { common } = useTexts();
  const problem = asProblem(props.error);
  const titles: Record<number, string> = {
    [-1]: common.unexpectedTitle,
    0: common.unreachableTitle,
    403: common.notAllowedTitle,
    404: common.notFoundTitle,
  };
  return (
    <div role="alert">
      <Empty
        icon={problem.status === 404 ? "search" : "warning"}
        title={titles[problem.status] ?? common.failedTitle}
        actions={
          <>
            {props.onRetry && problem.status !== 404 && (
              <Button icon="again" onClick={props.onRetry}>
                {common.retry}
              </Button>
            )}
            {(problem.status === 404 || problem.status === 403) && (
              <Link to="/" className={buttonClass()}>
                {common.toOverview}
              </Link>
            )}
          </>
        }
      >
        <p>{problem.status === 0 ? common.unreachable : problem.message || common.notFound}</p>
      </Empty>
    </div>
  );
}

/** In one line that something did not come, beside what did, and a way to ask again. */
export function ProblemLine(props: { error: unknown; about?: string; onRetry: () => void }) {
  const { common } = useTexts();
  const problem = asProblem(props.error);
  const told = problem.status === 0 ? common.unreachableTitle : problem.message;
  return (
    <div className="notice bad" role="alert">
      <Icon name="warning" />
      <div>
        {props.about !== undefined && `${props.about} `}
        {told || common.failedTitle}
      </div>
      <Button isSmall icon="again" onClick={props.onRetry}>
        {common.retry}
      </Button>
    </div>
  );
}

/** Bars in the place of what is being fetched. */
export function Loading(props: { lines?: number }) {
  const { common } = useTexts();
  const widths = ["62%", "84%", "47%", "71%", "55%"];
  return (
    <div className="skeletons" role="status" aria-label={common.loading}>
      {Array.from({ length: props.lines ?? 4 }, (_, index) => (
        <span key={index} className="skeleton" style={{ width: widths[index % widths.length] }} />
      ))}
    </div>
  );
}

/** In the place of a page that is being loaded; says so when the server does not answer meanwhile. */
export function Away() {
  const { common } = useTexts();
  const [isAway, setIsAway] = useState(false);
  useEffect(() => {
    const note = () => {
      setIsAway(true);
    };
    window.addEventListener("danlu:away", note);
    return () => {
      window.removeEventListener("danlu:away", note);
    };
  }, []);
  if (!isAway) return <Loading lines={6} />;
  return (
    <div role="alert">
      <Empty icon="warning" title={common.unreachableTitle}>
        <p>{common.unreachable}</p>
      </Empty>
    </div>
  );
}

/** A coloured strip with a sentence. */
export function Notice(props: {
  kind?: "bad" | "wait" | "ok" | "run";
  icon?: IconName;
  children: ReactNode;
}) {
  return (
    <div className={props.kind ? `notice ${props.kind}` : "notice"}>
      <Icon name={props.icon ?? (props.kind === "bad" ? "warning" : "info")} />
      <div>{props.children}</div>
    </div>
  );
}
