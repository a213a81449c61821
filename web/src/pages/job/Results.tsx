import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { folderQuery } from "@/api/store";
import { Icon } from "@/parts/Icon";
import { showBytes } from "@/parts/numbers";
import { placeIn } from "@/parts/StoreLink";
import { useTexts } from "@/texts/language";
import styles from "./job.module.css";

const SHOWN = 12;

/** What the job has left in the store: the first of its files. Left out where there are none. */
export function Results(props: { job: Job }) {
  const { job: texts, common } = useTexts();
  const place = placeIn(props.job.output);
  const bucket = place?.bucket ?? "";
  const prefix = place?.path ?? "";
  const found = useInfiniteQuery({
    ...folderQuery(bucket, prefix),
    enabled: place !== undefined,
    retry: false,
  });
  const page = found.data?.pages[0];
  const rows = [
    ...(page?.folders ?? []).map((key) => ({ key, size: undefined })),
    ...(page?.objects ?? []).map(({ key, size }) => ({ key, size })),
  ];
  if (!rows.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.output}</h2>
      </div>
      <ul className={`panel-body ${styles.files ?? ""}`}>
        {rows.slice(0, SHOWN).map(({ key, size }) => (
          <li key={key}>
            <Icon name={size === undefined ? "folder" : "file"} />
            <Link
              to="/store"
              search={
                size === undefined ? { bucket, path: key } : { bucket, path: prefix, file: key }
              }
              className="wrap"
            >
              {key.slice(prefix.length)}
            </Link>
            {size !== undefined && <span className="faint number">{showBytes(size)}</span>}
          </li>
        ))}
        {rows.length > SHOWN && (
          <li>
            <Link to="/store" search={{ bucket, path: prefix }}>
              {common.andMore(rows.length - SHOWN)}
            </Link>
          </li>
        )}
      </ul>
    </section>
  );
}
