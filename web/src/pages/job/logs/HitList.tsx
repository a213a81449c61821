import { Button } from "@/parts/Button";
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
  const at = search.hits.findIndex((hit) => hit.offset === props.chosen?.offset);
  const first = Math.max(0, Math.min(at - SHOWN / 2, search.hits.length - SHOWN));
  const step = (by: number) => {
    const { length } = search.hits;
    const hit = search.hits[(Math.max(at, by < 0 ? 0 : -1) + by + length) % length];
    if (hit) props.onChoose(hit);
  };
  return (
    <section className="panel" aria-label={texts.hits}>
      <div className="panel-head" role="status">
        <h2>{texts.numHits(search.hits.length, search.isCut)}</h2>
        {search.isRunning && <span className="muted">{texts.searching(percent)}</span>}
        <span className="actions">
          {at >= 0 && (
            <span className="muted number">{texts.hitOf(at + 1, search.hits.length)}</span>
          )}
          <Button
            kind="plain"
            isSmall
            icon="up"
            label={texts.previousHit}
            onClick={() => {
              step(-1);
            }}
          />
          <Button
            kind="plain"
            isSmall
            icon="down"
            label={texts.nextHit}
            onClick={() => {
              step(1);
            }}
          />
        </span>
      </div>
      <ol className={styles.hits}>
        {search.hits.slice(first, first + SHOWN).map((hit) => (
          <li
            key={hit.offset}
            data-chosen={hit.offset === props.chosen?.offset}
            ref={hit.offset === props.chosen?.offset ? intoView : undefined}
          >
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

function intoView(entry: HTMLLIElement | null): void {
  entry?.scrollIntoView({ block: "nearest" });
}

/** A line in short: the last of what was written over, without colours. */
function plain(text: string): string {
  return (text.split("\r").findLast((part) => part !== "") ?? "").replace(ORDERS, "");
}
