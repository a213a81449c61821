// Places for values on an axis: numbers by size, everything else by name. Pure.
import { highestOf, lowestOf, showNumber, showValue } from "@/parts/numbers";

export type Scale = {
  /** 0 to 1; undefined for what is not there. */
  place: (value: unknown) => number | undefined;
  ticks: { at: number; text: string }[];
  isNumeric: boolean;
};

const LOG_FROM = 50;
const MOST_OWN = 8;
const NEAR = 0.045; // ticks nearer than this would lie on each other

export function scaleOf(values: readonly unknown[]): Scale {
  const there = values.filter((value) => value !== undefined && value !== null);
  const numbers = there.filter((value): value is number => typeof value === "number");
  const finite = numbers.filter(Number.isFinite);
  if (finite.length && numbers.length === there.length) return numeric(finite);
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
  const low = lowestOf(numbers);
  const high = highestOf(numbers);
  const isLog = low > 0 && high / low >= LOG_FROM;
  const to = (value: number) => (isLog ? Math.log10(value) : value);
  const span = to(high) - to(low);
  const place = (value: number) => (span === 0 ? 0.5 : (to(value) - to(low)) / span);
  return {
    isNumeric: true,
    place: (value) =>
      typeof value !== "number" || !Number.isFinite(value) ? undefined : place(value),
    ticks: ticksOf(numbers, isLog).map((value) => ({ at: place(value), text: showNumber(value) })),
  };
}

/** The values themselves where they are few, as those of a hyperparameter; else round numbers, and both ends. */
function ticksOf(numbers: readonly number[], isLog: boolean): number[] {
  const own = [...new Set(numbers)].sort((a, b) => a - b);
  const [low = 0, high = 0] = [own[0], own.at(-1)];
  if (own.length <= MOST_OWN) return apart(own, isLog);
  return apart([low, ...(isLog ? powers(low, high) : rounds(low, high)), high], isLog);
}

function rounds(low: number, high: number): number[] {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((one) => one * power >= rough) ?? 10);
  const found: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++)
    found.push(Number((at * step).toPrecision(12)));
  return found;
}

function powers(low: number, high: number): number[] {
  const found: number[] = [];
  for (let at = Math.ceil(Math.log10(low)); 10 ** at <= high; at++)
    found.push(Number(`1e${String(at)}`));
  return found;
}

/** Without those that would be written over others; both ends stay. */
function apart(values: readonly number[], isLog: boolean): number[] {
  const to = (value: number) => (isLog ? Math.log10(value) : value);
  const [first = 0, last = 0] = [values[0], values.at(-1)];
  const span = to(last) - to(first) || 1;
  const kept: number[] = [];
  for (const value of values) {
    const before = kept.at(-1);
    const isFree = before === undefined || (to(value) - to(before)) / span >= NEAR;
    const isClear = value === last || (to(last) - to(value)) / span >= NEAR;
    if (isFree && isClear && value !== before) kept.push(value);
  }
  return kept;
}
