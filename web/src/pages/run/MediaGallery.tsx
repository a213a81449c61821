import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { mediaQuery, readMedia, type Media } from "@/api/runs";
import { Code } from "@/parts/Code";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { showNumber } from "@/parts/numbers";
import { LOG_TEXT } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { mediaByName } from "./mediaByName";
import styles from "./run.module.css";

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Images, texts and histograms: a card per name, in which one goes through the steps. */
export function MediaGallery(props: { run: string }) {
  const { runs: texts } = useTexts();
  const { data, error, refetch } = useQuery(mediaQuery(props.run));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (!data.length)
    return (
      <div className="panel">
        <Empty icon="file" title={texts.noMedia}>
          <p>{texts.noMediaText}</p>
          <Code text={LOG_TEXT} />
        </Empty>
      </div>
    );
  return (
    <div className={styles.media}>
      {mediaByName(data).map(([name, steps]) => (
        <Steps key={name} run={props.run} name={name} steps={steps} />
      ))}
    </div>
  );
}

/** What was logged under one name, one step at a time, the last one first. */
function Steps(props: { run: string; name: string; steps: readonly Media[] }) {
  const { name, steps } = props;
  const { runs: texts } = useTexts();
  const last = steps.length - 1;
  const [chosen, setChosen] = useState<number>();
  const at = Math.min(chosen ?? last, last);
  const media = steps[at];
  if (!media) return null;
  const step = media.step == null ? "" : `${texts.step} ${String(media.step)}`;
  return (
    <figure className={`panel ${styles.medium ?? ""}`}>
      <figcaption className="wrap">
        <strong>{name}</strong> <span className="muted small">{step}</span>
      </figcaption>
      <Medium key={media.id} run={props.run} media={media} name={name} />
      {last > 0 && (
        <label className={styles.slider}>
          <input
            type="range"
            min={0}
            max={last}
            value={at}
            aria-label={texts.stepOf(name)}
            aria-valuetext={step}
            onChange={(event) => {
              setChosen(Number(event.target.value));
            }}
          />
          <span className="faint small number">
            {at + 1} / {steps.length}
          </span>
        </label>
      )}
    </figure>
  );
}

function Medium(props: { run: string; media: Media; name: string }) {
  const { media, run, name } = props;
  const { data, error, refetch } = useQuery({
    queryKey: ["medium", run, media.id],
    queryFn: () => readMedia(run, media.id),
    staleTime: Infinity,
  });
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading lines={2} />;
  if (IMAGES.includes(media.format))
    return <Picture blob={data} format={media.format} name={name} />;
  return <Words blob={data} isHistogram={media.kind === "histogram"} />;
}

function Picture(props: { blob: Blob; format: string; name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([props.blob], { type: props.format }));
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
    };
  }, [props.blob, props.format]);
  return <img src={address} alt={props.name} />;
}

function Words(props: { blob: Blob; isHistogram: boolean }) {
  const [text, setText] = useState("");
  useEffect(() => {
    void props.blob.text().then(setText);
  }, [props.blob]);
  const counted = props.isHistogram && text ? parsed(text) : undefined;
  if (counted) return <Bars {...counted} />;
  return <Code text={text} isWrapped />;
}

type Counted = { edges: number[]; counts: number[] };

function parsed(text: string): Counted | undefined {
  try {
    const found = JSON.parse(text) as Partial<Counted>;
    return Array.isArray(found.edges) && Array.isArray(found.counts)
      ? { edges: found.edges, counts: found.counts }
      : undefined;
  } catch {
    return undefined;
  }
}

function Bars({ edges, counts }: Counted) {
  const { runs: texts } = useTexts();
  const most = Math.max(1, ...counts);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const told = texts.histogram(total, showNumber(edges[0]), showNumber(edges.at(-1)));
  return (
    <>
      <svg
        className={styles.bars}
        viewBox={`0 0 ${String(counts.length)} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={told}
      >
        {counts.map((count, index) => (
          <rect
            key={index}
            x={index + 0.05}
            width={0.9}
            y={100 - (100 * count) / most}
            height={(100 * count) / most}
          />
        ))}
      </svg>
      <p className="faint small">{told}</p>
    </>
  );
}
