import { useMemo, useState } from "react";
import { useTexts } from "@/texts/language";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { TextField } from "../Field";
import { Chart, type ChartProps } from "./Chart";

/** One chart as large as the window, with a chosen range. */
export function LargeChart(props: { chart: ChartProps; onClose: () => void }) {
  const { chart: texts, common } = useTexts();
  const [low, setLow] = useState("");
  const [high, setHigh] = useState("");
  const yRange = useMemo(() => [numberOf(low), numberOf(high)] as const, [low, high]);
  return (
    <Dialog title={props.chart.label} isLarge onClose={props.onClose}>
      <Chart {...props.chart} height={Math.max(260, window.innerHeight - 280)} yRange={yRange} />
      <div className="toolbar">
        <TextField
          label={texts.lowest}
          inputMode="decimal"
          value={low}
          placeholder={texts.automatic}
          onChange={(event) => {
            setLow(event.target.value);
          }}
        />
        <TextField
          label={texts.highest}
          inputMode="decimal"
          value={high}
          placeholder={texts.automatic}
          onChange={(event) => {
            setHigh(event.target.value);
          }}
        />
      </div>
      <div className="actions">
        <Button onClick={props.onClose}>{common.close}</Button>
      </div>
    </Dialog>
  );
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : undefined;
}
