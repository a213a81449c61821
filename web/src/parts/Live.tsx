import type { StreamState } from "@/api/stream";
import { useTexts } from "@/texts/language";

/** Whether what is shown follows what happens. */
export function Live(props: { state: StreamState }) {
  const { common } = useTexts();
  if (props.state === "over" || props.state === "connecting") return null;
  const isLive = props.state === "live";
  return (
    <span className={isLive ? "badge ok moving" : "badge wait moving"} role="status">
      {isLive ? common.live : common.reconnecting}
    </span>
  );
}
