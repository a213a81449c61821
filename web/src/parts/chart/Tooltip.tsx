import { exact, showSeconds } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import { differenceOf } from "../difference";
import { showNumber } from "../numbers";
import type { XKind } from "./Chart";
import type { Hover } from "./hover";

export type { Hover };

export function Tooltip(props: { hover: Hover; xKind: XKind; xLabel: string | undefined }) {
  const { hover } = props;
  const locale = useLocale();
  const { chart: texts } = useTexts();
  const isRight = hover.left > hover.width / 2;
  const x = {
    number: () => showNumber(hover.x),
    seconds: () => showSeconds(hover.x, locale),
    clock: () => exact(new Date(hover.x * 1000), locale),
  }[props.xKind]();
  return (
    <div
      className="chart-tooltip"
      aria-hidden="true"
      style={{
        top: 8,
        left: isRight ? undefined : hover.left + 14,
        right: isRight ? hover.width - hover.left + 14 : undefined,
      }}
    >
      <p className="faint">
        {props.xLabel} {x}
      </p>
      {hover.points.map((point, index) => (
        <p key={point.id} className={index === 0 ? "nearest" : undefined}>
          <span className="swatch" style={{ background: point.color }} />
          <span className="one-line">{point.label}</span>
          <span className="number">
            {showNumber(point.y)}
            {point.spread && (
              <span className="faint">
                {" "}
                {showNumber(point.spread[0])}–{showNumber(point.spread[1])}
              </span>
            )}
            {point.base !== undefined && (
              <span className="faint"> {differenceOf(point.y, point.base)}</span>
            )}
          </span>
        </p>
      ))}
      {hover.more > 0 && <p className="faint">{texts.more(hover.more)}</p>}
    </div>
  );
}
