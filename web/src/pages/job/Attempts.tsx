import { Link } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { Reason } from "@/parts/Reason";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Duration } from "@/parts/time";
import { useTexts } from "@/texts/language";

/** Each time that the job was started. */
export function Attempts(props: { job: Job }) {
  const { job: texts } = useTexts();
  const { job } = props;
  if (!job.attempts.length) return null;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.attempts}</h2>
      </div>
      <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.attempts}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{texts.attempt}</th>
              <th scope="col">{texts.state}</th>
              <th scope="col" className="wide-only">
                {texts.why}
              </th>
              <th scope="col">{texts.started}</th>
              <th scope="col" className="end">
                {texts.duration}
              </th>
            </tr>
          </thead>
          <tbody>
            {[...job.attempts].reverse().map((attempt) => (
              <tr key={attempt.number}>
                <td>
                  <Link
                    to="/jobs/$id/logs"
                    params={{ id: job.id }}
                    search={{ attempt: attempt.number }}
                  >
                    {attempt.number}
                  </Link>
                </td>
                <td>
                  <StateBadge state={attempt.state} />
                </td>
                <td className="wide-only tall wrap">
                  <Reason of={attempt} />
                </td>
                <td>
                  <Ago at={attempt.started_at} />
                </td>
                <td className="end">
                  <Duration from={attempt.started_at} to={attempt.ended_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
