import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { SelectField } from "@/parts/Field";
import { showValue } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { differing, keysOf, shortKey, valuesOf } from "../experiments/values";
import type { ComparedRun } from "./ComparePage";
import { scaleOf } from "./scale";
import styles from "./compare.module.css";

const WIDTH = 900;
const HEIGHT = 420;
const LEFT = 80;
const RIGHT = 30;
const TOP = 20;
const BOTTOM = 50;

/** Runs as dots: one value across, one up. */
export function Scatter(props: {
  runs: readonly ComparedRun[];
  x: string | undefined;
  y: string | undefined;
  onChange: (to: { x?: string; y?: string }) => void;
}) {
  const { values: texts } = useTexts();
  const navigate = useNavigate();
  const { runs } = props;
  const keys = useMemo(() => {
    const { hparams, metrics, summary } = keysOf(runs);
    return { all: [...hparams, ...metrics, ...summary], hparams, metrics };
  }, [runs]);
  const x = props.x ?? numericFirst(runs, differing(runs, keys.hparams)) ?? keys.all[0];
  const y =
    props.y ??
    keys.metrics.find((key) => /^metrics\.(val|test)\./.test(key)) ??
    keys.metrics[0] ??
    keys.all[1];
  if (x === undefined || y === undefined) return <p className="muted">{texts.noPoints}</p>;
  const across = scaleOf(runs.map((run) => valuesOf(run)[x]));
  const up = scaleOf(runs.map((run) => valuesOf(run)[y]));
  const dots = runs.flatMap((run) => {
    const [left, height] = [across.place(valuesOf(run)[x]), up.place(valuesOf(run)[y])];
    return left === undefined || height === undefined ? [] : [{ run, left, height }];
  });
  const choices = keys.all.map((key) => [key, key] as const);
  const xAt = (place: number) => LEFT + place * (WIDTH - LEFT - RIGHT);
  const yAt = (place: number) => HEIGHT - BOTTOM - place * (HEIGHT - BOTTOM - TOP);
  return (
    <>
      <div className="toolbar">
        <SelectField
          label={texts.across}
          value={x}
          choices={choices}
          onChange={(event) => {
            props.onChange({ x: event.target.value });
          }}
        />
        <SelectField
          label={texts.up}
          value={y}
          choices={choices}
          onChange={(event) => {
            props.onChange({ y: event.target.value });
          }}
        />
      </div>
      {!dots.length && <p className="muted">{texts.noPoints}</p>}
      <div className="panel">
        <div className={styles.plot}>
          <svg
            viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
            role="group"
            aria-label={`${shortKey(x)} · ${shortKey(y)}`}
          >
            {up.ticks.slice(0, 12).map((tick) => (
              <g key={tick.text}>
                <line
                  className={styles.grid}
                  x1={LEFT - 16}
                  x2={WIDTH - RIGHT + 16}
                  y1={yAt(tick.at)}
                  y2={yAt(tick.at)}
                />
                <text x={LEFT - 22} y={yAt(tick.at) + 4} textAnchor="end">
                  {tick.text.slice(0, 9)}
                </text>
              </g>
            ))}
            {across.ticks.slice(0, 12).map((tick) => (
              <text key={tick.text} x={xAt(tick.at)} y={HEIGHT - BOTTOM + 24} textAnchor="middle">
                {tick.text.slice(0, 14)}
              </text>
            ))}
            <text
              className={styles.title}
              x={(LEFT + WIDTH) / 2}
              y={HEIGHT - 6}
              textAnchor="middle"
            >
              {shortKey(x)}
            </text>
            <text className={styles.title} x={8} y={12}>
              {shortKey(y)}
            </text>
            {dots.map(({ run, left, height }) => {
              const told = `${run.name}: ${shortKey(x)} ${showValue(valuesOf(run)[x])}, ${shortKey(y)} ${showValue(valuesOf(run)[y])}`;
              const open = () => void navigate({ to: "/experiments/$id", params: { id: run.id } });
              return (
                <circle
                  key={run.id}
                  className={styles.dot}
                  cx={xAt(left)}
                  cy={yAt(height)}
                  r={7}
                  style={{ fill: run.color, cursor: "pointer" }}
                  role="link"
                  tabIndex={0}
                  aria-label={told}
                  onClick={open}
                  onKeyDown={(event) => {
                    if (event.key === "Enter") open();
                  }}
                >
                  <title>{told}</title>
                </circle>
              );
            })}
          </svg>
        </div>
      </div>
    </>
  );
}

/** The first value that is a number: it spreads the dots better than a name does. */
function numericFirst(runs: readonly ComparedRun[], keys: readonly string[]): string | undefined {
  const isNumber = (key: string) =>
    runs.some((run) => typeof valuesOf(run)[key] === "number" && !key.endsWith("seed"));
  return (
    keys.find((key) => /(^|\.)(lr|learning_rate)$/.test(key)) ?? keys.find(isNumber) ?? keys[0]
  );
}
