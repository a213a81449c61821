// Places for values on an axis: numbers by size, everything else by name. Pure.
import { showNumber, showValue } from "@/parts/numbers";

export type Scale = {
  /** 0 to 1; undefined for what is not there. */
  place: (value: unknown) => number | undefined;
  ticks: { at: number; text: string }[];
  isNumeric: boolean;
};

const LOG_FROM = 50;

export function scaleOf(values: readonly unknown[]): Scale {
  const there = values.filter((value) => value !== undefined && value !== null);
  const numbers = there.filter((value): value is number => typeof value === "number");
  if (there.length && numbers.length === there.length) return numeric(numbers);
  const names = [...new Set(there.map(showValue))].sort((a, b) => a.localeCompare(b));
  const place = (text: string) =>
    names.length === 1 ? 0.5 : names.indexOf(text) / (names.length - 1);
  return {
    isNumeric: false,
    place: (value) => (value === undefined || value === null ? undefined : place(showValue(value))),
    ticks: names.map((text) => ({ at: place(text), text })),
  };
}

/** Evenly, or by powers of ten where values differ much: a learning rate, for one. */
function numeric(numbers: readonly number[]): Scale {
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  const isLog = low > 0 && high / low >= LOG_FROM;
  const to = (value: number) => (isLog ? Math.log10(value) : value);
  const from = (value: number) => (isLog ? 10 ** value : value);
  const span = to(high) - to(low);
  const steps = span === 0 ? [0.5] : [0, 0.25, 0.5, 0.75, 1];
  return {
    isNumeric: true,
    place: (value) =>
      typeof value !== "number" ? undefined : span === 0 ? 0.5 : (to(value) - to(low)) / span,
    ticks: steps.map((at) => ({
      at,
      text: showNumber(Number(from(to(low) + (span === 0 ? 0 : at) * span).toPrecision(3))),
    })),
  };
}
