import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/jobs";
import { treeQuery } from "@/api/trees";
import { Code } from "@/parts/Code";
import { showPrice } from "@/parts/money";
import { showBytes } from "@/parts/numbers";
import { StoreLink } from "@/parts/StoreLink";
import { TreeFiles } from "@/parts/TreeFiles";
import { useLocale, useTexts } from "@/texts/language";
import { commandOf, flavorsIn } from "./spec";

/** What was asked for. */
export function Configuration(props: { job: Job }) {
  const { job } = props;
  const { job: texts, common, flavors, submit } = useTexts();
  const locale = useLocale();
  const spec = job.spec as Record<string, unknown>;
  const command = commandOf(spec);
  const retry = (spec.retry as { max?: number } | undefined)?.max ?? 0;
  const data = Object.entries((spec.data ?? {}) as Record<string, string>);
  const code = spec.code as { store?: string | null; tree?: string | null } | null | undefined;
  const pairs = (value: unknown) => Object.entries((value ?? {}) as Record<string, unknown>);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.what}</h2>
      </div>
      <div className="panel-body">
        <dl className="pairs">
          {command && (
            <>
              <dt>{texts.command}</dt>
              <dd>
                <Code text={command} isWrapped label={texts.command} />
              </dd>
            </>
          )}
          <dt>{texts.launch}</dt>
          <dd>{job.launch}</dd>
          {job.price_per_hour != null && job.currency != null && (
            <>
              <dt>{flavors.flavor}</dt>
              <dd>
                {flavorsIn(spec)}{" "}
                <span className="muted">
                  {flavors.allNodes(
                    flavors.perHour(showPrice(job.price_per_hour, job.currency, locale)),
                  )}
                </span>
              </dd>
            </>
          )}
          {job.framework && (
            <>
              <dt>{flavors.framework}</dt>
              <dd>
                {job.framework.title || job.framework.name}{" "}
                <span className="muted">
                  {job.framework.image ? <code>{job.framework.image}</code> : flavors.own}
                </span>
              </dd>
            </>
          )}
          {typeof spec.image === "string" && (
            <>
              <dt>{texts.image}</dt>
              <dd>
                <code>{spec.image}</code>
              </dd>
            </>
          )}
          {code && (
            <>
              <dt>{texts.code}</dt>
              <dd>
                {code.store && <StoreLink path={code.store} />}
                {code.tree && <JobCode digest={code.tree} />}
              </dd>
            </>
          )}
          {data.length > 0 && (
            <>
              <dt>{texts.data}</dt>
              <dd>
                {data.map(([from, to]) => (
                  <div key={from}>
                    <StoreLink path={from} /> → <code>{to}</code>
                  </div>
                ))}
              </dd>
            </>
          )}
          <dt>{texts.output}</dt>
          <dd>
            <StoreLink path={job.output} />
          </dd>
          {pairs(spec.env).length > 0 && (
            <>
              <dt>{texts.env}</dt>
              <dd>
                {pairs(spec.env).map(([key, value]) => (
                  <div key={key}>
                    <code>
                      {key}={String(value)}
                    </code>
                  </div>
                ))}
              </dd>
            </>
          )}
          {pairs(spec.hyperparameters).length > 0 && (
            <>
              <dt>{texts.hyperparameters}</dt>
              <dd>
                {pairs(spec.hyperparameters).map(([key, value]) => (
                  <div key={key}>
                    <code>
                      {key} = {JSON.stringify(value)}
                    </code>
                  </div>
                ))}
              </dd>
            </>
          )}
          {Object.keys(job.tags).length > 0 && (
            <>
              <dt>{texts.tags}</dt>
              <dd>
                {Object.entries(job.tags).map(([key, value]) => (
                  <span key={key} className="tag">
                    {key}={value}
                  </span>
                ))}
              </dd>
            </>
          )}
          <dt>{texts.priority}</dt>
          <dd>{job.priority}</dd>
          <dt>{texts.preemptible}</dt>
          <dd>{spec.preemptible ? common.yes : common.no}</dd>
          {(spec.access === "read" || spec.access === "owner") && (
            <>
              <dt>{texts.access}</dt>
              <dd>{submit.accesses[spec.access]}</dd>
            </>
          )}
          <dt>{texts.retries}</dt>
          <dd>{retry ? texts.retriesUpTo(retry) : texts.noRetries}</dd>
        </dl>
      </div>
    </section>
  );
}

function JobCode(props: { digest: string }) {
  const { submit: texts } = useTexts();
  const { data, error } = useQuery({ ...treeQuery(props.digest), retry: false });
  const size = (data?.files ?? []).reduce((sum, file) => sum + file.size, 0);
  return (
    <>
      <code className="faint" title={props.digest}>
        {props.digest.slice(0, 12)}
      </code>{" "}
      {error && <span className="muted">{texts.treeGone}</span>}
      {data && <span className="muted">{texts.treeOf(data.files.length, showBytes(size))}</span>}
      {data && <TreeFiles files={data.files} />}
    </>
  );
}
