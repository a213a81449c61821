import { CheckField, SearchField, Segments } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import type { ChartView } from "./view";

/** How all charts of a page are looked at. */
export function ChartTools(props: {
  view: ChartView;
  onView: (view: ChartView) => void;
  /** What is looked for among the metrics; undefined where they are few. */
  words: string | undefined;
  onWords: (words: string) => void;
  groupKeys: readonly string[];
  hasBranches: boolean;
  isSystem: boolean;
  /** Whether the script named what some metrics are shown over. */
  hasOwnAxes: boolean;
}) {
  const { chart: texts } = useTexts();
  const { view, onView, isSystem } = props;
  const smoothing = view.smoothing ?? 0;
  return (
    <div className="toolbar chart-tools">
      {props.words !== undefined && (
        <SearchField
          label={texts.find}
          value={props.words}
          onChange={(event) => {
            props.onWords(event.target.value);
          }}
        />
      )}
      {!isSystem && (
        <Segments
          label={texts.axis}
          value={view.axis ?? "step"}
          choices={[
            ["step", texts.step],
            ["epoch", texts.epoch],
            ["time", texts.time],
            ...(props.hasOwnAxes || view.axis === "own" ? [["own", texts.own] as const] : []),
          ]}
          onChange={(axis) => {
            // a place among the steps is none among the hours
            onView({
              ...view,
              axis: axis === "step" ? undefined : axis,
              from: undefined,
              to: undefined,
            });
          }}
        />
      )}
      <label>
        {texts.smoothing}
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={smoothing}
          onChange={(event) => {
            onView({ ...view, smoothing: Number(event.target.value) || undefined });
          }}
        />
        <span className="number">{smoothing.toFixed(2)}</span>
      </label>
      <CheckField
        label={texts.log}
        checked={view.log ?? false}
        onChange={(event) => {
          onView({ ...view, log: event.target.checked || undefined });
        }}
      />
      <CheckField
        label={texts.outliers}
        checked={view.outliers ?? false}
        onChange={(event) => {
          onView({ ...view, outliers: event.target.checked || undefined });
        }}
      />
      {props.groupKeys.length > 0 && (
        <label>
          {texts.groupBy}
          <select
            className="input fit"
            value={view.group ?? ""}
            onChange={(event) => {
              onView({ ...view, group: event.target.value || undefined });
            }}
          >
            <option value="">{texts.noGroups}</option>
            {props.groupKeys.map((key) => (
              <option key={key} value={key}>
                {key}
              </option>
            ))}
          </select>
        </label>
      )}
      {props.hasBranches && (
        <CheckField
          label={texts.hidden}
          checked={view.hidden ?? false}
          onChange={(event) => {
            onView({ ...view, hidden: event.target.checked || undefined });
          }}
        />
      )}
      <CheckField
        label={texts.large}
        checked={view.size === "large"}
        onChange={(event) => {
          onView({ ...view, size: event.target.checked ? "large" : undefined });
        }}
      />
    </div>
  );
}
