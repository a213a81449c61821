import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { examplesQuery, type ExampleRow } from "@/api/examples";
import { Empty } from "@/parts/Empty";
import { Segments } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useSpeech } from "@/texts/language";
import { Fitness } from "./Fitness";
import { tagName } from "./tags";
import styles from "./examples.module.css";

/** Examples as cards, by what they are about. */
export function ExamplesPage() {
  const { texts: all } = useSpeech();
  const { examples: texts } = all;
  const { tag } = useSearch({ from: "/inside/examples" });
  const navigate = useNavigate({ from: "/examples" });
  const found = useQuery(examplesQuery);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
      </div>
      <p className="muted">{texts.text}</p>
      <Found of={found} lines={10}>
        {(rows) =>
          rows.length ? (
            <>
              <div>
                <Segments
                  label={texts.filter}
                  value={tag ?? ""}
                  choices={[
                    ["", texts.all],
                    ...tagsOf(rows).map((one) => [one, tagName(one, all)] as const),
                  ]}
                  onChange={(chosen) => {
                    void navigate({ search: { tag: chosen || undefined }, replace: true });
                  }}
                />
              </div>
              <Cards rows={rows.filter((row) => tag === undefined || row.tags.includes(tag))} />
            </>
          ) : (
            <div className="panel">
              <Empty icon="book" title={texts.empty}>
                <p>{texts.emptyText}</p>
              </Empty>
            </div>
          )
        }
      </Found>
    </div>
  );
}

function Cards(props: { rows: readonly ExampleRow[] }) {
  const { language, texts: all } = useSpeech();
  const { examples: texts } = all;
  if (!props.rows.length)
    return (
      <div className="panel">
        <Empty icon="filter" title={texts.none}>
          <p>{texts.noneText}</p>
        </Empty>
      </div>
    );
  return (
    <ul className={styles.cards}>
      {props.rows.map((row) => (
        <li key={row.name} className={`panel ${styles.card ?? ""}`}>
          <h2>
            <Link to="/examples/$name" params={{ name: row.name }}>
              {row.title[language]}
            </Link>
          </h2>
          <p className="muted">{row.about[language]}</p>
          <div className={styles.tags}>
            {row.tags.map((one) => (
              <span key={one} className="tag">
                {tagName(one, all)}
              </span>
            ))}
          </div>
          <div className={styles.foot}>
            <Fitness example={row} />
            <span className="faint small">{texts.takes(row.seconds)}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

/** Tags in the order in which the gallery first has them. */
function tagsOf(rows: readonly ExampleRow[]): string[] {
  return [...new Set(rows.flatMap((row) => row.tags))];
}
