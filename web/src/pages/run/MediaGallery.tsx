import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { mediaPage, mediaQuery, readMedia, type Media } from "@/api/runs";
import { Code } from "@/parts/Code";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { LOG_TEXT } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { MediumContent } from "./MediumContent";
import { isPage, mediaByName } from "./mediaByName";
import styles from "./run.module.css";

/** Images, sounds, tables and others: a card per name, in which one goes through the steps. */
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
  return isPage(props.media) ? <LoggedPage {...props} /> : <Fetched {...props} />;
}

/** What is logged as a page runs in a frame of no site: it sees nothing of the console, and reaches nothing. */
function LoggedPage(props: { run: string; media: Media; name: string }) {
  return (
    <iframe
      src={mediaPage(props.run, props.media.id)}
      sandbox="allow-scripts"
      referrerPolicy="no-referrer"
      loading="lazy"
      title={props.name}
    />
  );
}

function Fetched(props: { run: string; media: Media; name: string }) {
  const { media, run, name } = props;
  const { data, error, refetch } = useQuery({
    queryKey: ["medium", run, media.id],
    queryFn: () => readMedia(run, media.id),
    staleTime: Infinity,
  });
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading lines={2} />;
  return <MediumContent blob={data} media={media} name={name} />;
}
