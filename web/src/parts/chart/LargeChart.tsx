import { useMemo, useState } from "react";
import { useTexts } from "@/texts/language";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { TextField } from "../Field";
import { Chart, type ChartProps } from "./Chart";
import { numberOf, type YRange } from "./view";

/** One chart as large as the window. The range of its Y axis, when set, stays when it is small again. */
export function LargeChart(props: {
  chart: ChartProps;
  onRange: (range: YRange) => void;
  onClose: () => void;
}) {
  const { chart: texts, common } = useTexts();
  const [low, setLow] = useState(() => String(props.chart.yRange?.[0] ?? ""));
  const [high, setHigh] = useState(() => String(props.chart.yRange?.[1] ?? ""));
  const yRange = useMemo(() => [numberOf(low), numberOf(high)] as const, [low, high]);
  const isEmpty = yRange[0] !== undefined && yRange[1] !== undefined && yRange[0] >= yRange[1];
  const close = () => {
    if (!isEmpty) props.onRange(yRange);
    props.onClose();
  };
  return (
    <Dialog title={props.chart.label} isLarge onClose={close}>
      <Chart
        {...props.chart}
        height={Math.max(260, window.innerHeight - 280)}
        yRange={isEmpty ? undefined : yRange}
      />
      <div className="toolbar">
        <TextField
          label={texts.lowest}
          inputMode="decimal"
          value={low}
          placeholder={texts.automatic}
          wrong={isEmpty ? texts.emptyRange : undefined}
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
        <Button onClick={close}>{common.close}</Button>
      </div>
    </Dialog>
  );
}
