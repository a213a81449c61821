import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { ModelVersion } from "@/api/models";
import { Code } from "@/parts/Code";
import { Description } from "@/parts/Description";
import { Facts } from "@/parts/Facts";
import { storePlace } from "@/parts/flow/links";
import { flatten, showBytes, showValue } from "@/parts/numbers";
import { downloadModel } from "@/parts/snippets";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { ModelFiles } from "./ModelFiles";
import styles from "./models.module.css";

/** What a version is, what it was measured at, and what it was made from. */
export function VersionDetails(props: { version: ModelVersion }) {
  const { version } = props;
  const { models: texts, artifacts } = useTexts();
  const path = version.path?.replace(/^store:\/\//, "");
  return (
    <>
      <Facts
        items={[
          [texts.size, `${showBytes(version.size)}, ${artifacts.numFiles(version.num_files)}`],
          [texts.created, <Ago key="created" at={version.created_at} />],
          [texts.owner, version.owner],
          version.format && [texts.format, version.format],
          version.framework && [texts.framework, version.framework],
          version.job && [
            texts.job,
            <Link key="job" to="/jobs/$id" params={{ id: version.job }}>
              {version.job}
            </Link>,
          ],
          version.run && [
            texts.run,
            <Link key="run" to="/experiments/$id" params={{ id: version.run }}>
              {version.run}
            </Link>,
          ],
          version.artifact && [
            texts.artifact,
            <Link key="artifact" to="/artifacts/$id" params={{ id: version.artifact }}>
              {version.artifact}
            </Link>,
          ],
          path && [
            texts.files,
            <Link key="files" {...storePlace(path)}>
              {version.path}
            </Link>,
          ],
          ...Object.entries(version.tags ?? {}),
        ]}
      />
      <p className="muted">{version.is_copied ? texts.copied : texts.notCopied}</p>
      <Description text={version.description} />
      {version.path && <ModelFiles path={version.path} />}
      <div className={styles.columns}>
        <Values title={texts.metrics} values={version.metrics ?? {}} />
        <Values title={texts.hparams} values={flatten(version.hparams ?? {})} />
        <Values
          title={texts.environment}
          values={{
            ...(version.environment?.image ? { [texts.image]: version.environment.image } : {}),
            ...(version.environment?.command
              ? { [texts.command]: version.environment.command }
              : {}),
            ...version.environment?.env,
          }}
        />
      </div>
      <section>
        <h3>{texts.use}</h3>
        <Code text={downloadModel(version)} label={texts.use} />
      </section>
    </>
  );
}

function Values(props: { title: string; values: Record<string, unknown> }) {
  const { models: texts } = useTexts();
  const entries = Object.entries(props.values);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{props.title}</h2>
      </div>
      <div className="panel-body">
        {entries.length ? (
          <dl className="pairs">
            {entries.map(([name, value]) => (
              <Fragment key={name}>
                <dt className="wrap">{name}</dt>
                <dd className="mono">{value === null ? "–" : showValue(value)}</dd>
              </Fragment>
            ))}
          </dl>
        ) : (
          <p className="muted">{texts.noValues}</p>
        )}
      </div>
    </section>
  );
}
