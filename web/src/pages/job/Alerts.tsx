import { useQuery } from "@tanstack/react-query";
import { alertsQuery } from "@/api/notices";
import { isOver, type Job } from "@/api/jobs";
import { AlertText } from "@/parts/AlertText";
import { Notice } from "@/parts/Empty";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";

/** What is wrong with a running job although it has not failed. */
export function Alerts(props: { job: Job }) {
  const { notices } = useTexts();
  const { data } = useQuery({ ...alertsQuery(props.job.id), enabled: !isOver(props.job.state) });
  const open = data?.filter((alert) => !alert.closed_at) ?? [];
  return open.map((alert) => (
    <Notice key={alert.id} kind="wait" icon="warning">
      <strong>
        <AlertText kind={alert.kind} details={alert.details} />
      </strong>{" "}
      <span className="muted small">
        <Ago at={alert.opened_at} />
      </span>
      <div>{notices.remedies[alert.kind]}</div>
    </Notice>
  ));
}
