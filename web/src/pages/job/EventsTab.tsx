import { useQuery } from "@tanstack/react-query";
import { eventsQuery } from "@/api/jobs";
import { Empty, Loading, Problem } from "@/parts/Empty";
import { own } from "@/parts/own";
import { Moment } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";
import { useLoadedJob } from "./loaded";

export function EventsTab() {
  const job = useLoadedJob();
  const { job: texts, messages, happened } = useTexts();
  const { data, error, refetch } = useQuery(eventsQuery(job));
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (!data.length) {
    return (
      <div className="panel">
        <Empty icon="clock" title={texts.noEvents} />
      </div>
    );
  }
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.events}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{texts.when}</th>
            <th scope="col">{texts.event}</th>
            <th scope="col">{texts.attempt}</th>
            <th scope="col">{texts.message}</th>
          </tr>
        </thead>
        <tbody>
          {[...data].reverse().map((event) => (
            <tr key={event.id}>
              <td className="number">
                <Moment at={event.at} />
              </td>
              <td title={event.kind}>{own(happened, event.kind) ?? event.kind}</td>
              <td>{event.attempt || "–"}</td>
              <td className="tall wrap sentence">{told(messages, event.said, event.message)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
