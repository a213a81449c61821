import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { exampleQuery, type Example, type Need } from "@/api/examples";
import { buttonClass } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Notice } from "@/parts/Empty";
import { Found } from "@/parts/Found";
import { Icon } from "@/parts/Icon";
import { Listing } from "@/parts/Listing";
import { runExample } from "@/parts/snippets";
import { Trail } from "@/parts/Trail";
import { useSpeech, useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { Fitness } from "./Fitness";
import { tagName } from "./tags";
import styles from "./examples.module.css";

/** One example: what it shows, what it needs, its files, and the way to run it. */
export function ExamplePage() {
  const { name } = useParams({ from: "/inside/examples/$name" });
  const found = useQuery(exampleQuery(name));
  return (
    <div className="page">
      <Found of={found} lines={10}>
        {(example) => <Shown example={example} />}
      </Found>
    </div>
  );
}

function Shown(props: { example: Example }) {
  const { example } = props;
  const { language, texts: all } = useSpeech();
  const { examples: texts } = all;
  return (
    <>
      <Trail above={[[texts.title, { to: "/examples" }]]} here={example.name} />
      <div className="page-head">
        <h1>{example.title[language]}</h1>
        <Fitness example={example} />
        <div className="actions">
          {example.is_job && (
            <Link
              to="/submit"
              search={{ example: example.name }}
              className={buttonClass("primary")}
              preload={false}
            >
              <Icon name="play" />
              {texts.use}
            </Link>
          )}
        </div>
      </div>
      {example.before && <Notice icon="info">{example.before[language]}</Notice>}
      <div className={styles.columns}>
        <Files example={example} />
        <aside className={styles.side}>
          <section className="panel">
            <div className={`panel-body ${styles.about ?? ""}`}>
              <p>{example.about[language]}</p>
              <div className={styles.tags}>
                {example.tags.map((tag) => (
                  <Link key={tag} to="/examples" search={{ tag }} className="tag">
                    {tagName(tag, all)}
                  </Link>
                ))}
              </div>
              <span className="muted small">{texts.takes(example.seconds)}</span>
            </div>
          </section>
          <section className="panel">
            <div className="panel-head">
              <h2>{texts.needs}</h2>
            </div>
            <div className="panel-body">
              <Needs needs={example.needs} isHere={example.is_job} />
            </div>
          </section>
          <section className="panel">
            <div className="panel-head">
              <h2>{texts.fromShell}</h2>
            </div>
            <div className="panel-body">
              <Code
                text={runExample(example.name, example.is_job)}
                isWrapped
                label={texts.fromShell}
              />
            </div>
          </section>
        </aside>
      </div>
    </>
  );
}

function Needs(props: { needs: readonly Need[]; isHere: boolean }) {
  const { examples: texts, messages } = useTexts();
  if (!props.needs.length) return <p className="muted">{texts.nothing}</p>;
  return (
    <ul className={styles.needs}>
      {props.needs.map((need) => (
        <li key={need.name}>
          <Icon
            name={need.is_met === true ? "check" : need.is_met === false ? "warning" : "info"}
          />
          <div>
            <code>{need.name}</code>{" "}
            <span className="muted">
              {!props.isHere
                ? texts.yours
                : need.is_met == null
                  ? texts.unknown
                  : need.is_met
                    ? texts.isMet
                    : texts.isNotMet}
            </span>
            {need.why && <p className="faint small wrap">{told(messages, need.said, need.why)}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Files(props: { example: Example }) {
  const { examples: texts } = useTexts();
  const { files, name } = props.example;
  const search = useSearch({ from: "/inside/examples/$name" });
  const shown = files.find((file) => file.path === search.file) ?? firstOf(files);
  if (!shown) return null;
  const numLines = shown.text.replace(/\n$/, "").split("\n").length;
  return (
    <section className={`panel ${styles.files ?? ""}`}>
      <div className="panel-head">
        <h2>{texts.files}</h2>
        <span className="faint number">{texts.lines(numLines)}</span>
      </div>
      <nav className={styles.names} aria-label={texts.files}>
        {files.map((file) => (
          <Link
            key={file.path}
            to="/examples/$name"
            params={{ name }}
            search={{ file: file.path }}
            replace
            resetScroll={false}
            aria-current={file === shown ? "page" : undefined}
          >
            {file.path}
          </Link>
        ))}
      </nav>
      <Listing text={shown.text} name={shown.path} />
    </section>
  );
}

/** What people want to read first: the script that is run. */
function firstOf(files: Example["files"]): Example["files"][number] | undefined {
  const order = [/train\.py$/, /\.py$/, /\.sh$/, /./];
  return order.map((one) => files.find((file) => one.test(file.path))).find((file) => file);
}
