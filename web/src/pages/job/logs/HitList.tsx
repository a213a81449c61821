import { Notice } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import styles from "./logs.module.css";
import type { Hit, Search } from "./search";

const SHOWN = 300;
// eslint-disable-next-line no-control-regex -- colours of a terminal
const ORDERS = /\u001b\[[0-9;?]*[A-Za-z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

export function HitList(props: {
  search: Search;
  total: number;
  chosen: Hit | undefined;
  onChoose: (hit: Hit) => void;
}) {
  const { log: texts } = useTexts();
  const { search } = props;
  const percent = props.total ? Math.floor((100 * search.at) / props.total) : 0;
  if (!search.hits.length) {
    return <Notice>{search.isRunning ? texts.searching(percent) : texts.noHit}</Notice>;
  }
  return (
    <section className="panel" aria-label={texts.hits}>
      <div className="panel-head" role="status">
        <h2>{texts.numHits(search.hits.length, search.isCut)}</h2>
        {search.isRunning && <span className="muted">{texts.searching(percent)}</span>}
      </div>
      <ol className={styles.hits}>
        {search.hits.slice(0, SHOWN).map((hit) => (
          <li key={hit.offset} data-chosen={hit.offset === props.chosen?.offset}>
            <button
              type="button"
              data-lines
              onClick={() => {
                props.onChoose(hit);
              }}
            >
              <span className="faint number">{hit.line + 1}</span> {plain(hit.text)}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A line in short: the last of what was written over, without colours. */
function plain(text: string): string {
  return (text.split("\r").findLast((part) => part !== "") ?? "").replace(ORDERS, "");
}
