import { useQuery } from "@tanstack/react-query";
import { isOver, reasonsQuery, whyQuery, type Job } from "@/api/jobs";
import { Notice } from "@/parts/Empty";
import { own } from "@/parts/own";
import { Moment } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told, toldAll } from "@/texts/told";
import styles from "./job.module.css";

/** Why it waits, or why it ended: the cause, and what to do. */
export function Why(props: { job: Job }) {
  const { job } = props;
  const { job: texts, reasons: translated, messages } = useTexts();
  const translation = own(translated, job.reason.code);
  const isQueued = job.state === "queued";
  const { data: why } = useQuery({ ...whyQuery(job.id, job.reason.message), enabled: isQueued });
  const { data: reasons } = useQuery(reasonsQuery);
  const entry = reasons?.items.find((one) => one.code === job.reason.code);
  const kind = { failed: "bad", queued: "wait", succeeded: "ok", running: "run" }[
    job.state as string
  ] as "bad" | "wait" | "ok" | "run" | undefined;
  const hasRemedy = entry !== undefined && entry.remedy !== "" && (isOver(job.state) || isQueued);
  return (
    <Notice kind={kind} icon={isQueued ? "clock" : undefined}>
      <div className={styles.why}>
        {translation && <strong>{translation.cause}</strong>}
        <Told isStrong={!translation}>
          {isQueued && why
            ? toldAll(messages, why.said, withoutName(why.sentence, job.id))
            : told(messages, job.said, job.reason.message)}
        </Told>
        {isQueued && why && why.would_help.length > 0 && (
          <div>
            {texts.wouldHelp}
            <ul>
              {why.would_help.map((one, at) => (
                <li key={one}>{told(messages, why.would_help_said?.[at], one)}</li>
              ))}
            </ul>
          </div>
        )}
        {isQueued && why?.estimate && (
          <div>
            {texts.startsAt} <Moment at={why.estimate.starts_at} />
          </div>
        )}
        {hasRemedy && job.state === "failed" && (
          <div>
            {texts.whatToDo}
            {messages.of}
            {translation?.remedy ?? entry.remedy}
          </div>
        )}
      </div>
    </Notice>
  );
}

function Told(props: { isStrong: boolean; children: string }) {
  return props.isStrong ? <strong>{props.children}</strong> : <div>{props.children}</div>;
}

/** The page has the name already. */
function withoutName(sentence: string, id: string): string {
  return sentence.startsWith(`${id} waits: `) ? sentence.slice(id.length + 8) : sentence;
}
