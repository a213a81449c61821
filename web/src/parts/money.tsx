import { useLocale, useTexts } from "@/texts/language";
import { useNow } from "./time";

/** An amount of money. Amounts come as text, exact; here they are only shown. */
export function showMoney(amount: number, currency: string, locale: string): string {
  // a short job must not look free
  const places = amount === 0 || amount >= 1 ? 2 : 4;
  const options = {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: places,
  } as const;
  return new Intl.NumberFormat(locale, options).format(amount);
}

/** A price in full, with all the places it has. */
export function showPrice(price: string, currency: string, locale: string): string {
  const options = {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: 6,
  } as const;
  return new Intl.NumberFormat(locale, options).format(Number(price));
}

export function PerHour(props: { price: string; currency: string }) {
  const { flavors: texts } = useTexts();
  const locale = useLocale();
  return (
    <span className="number">{texts.perHour(showPrice(props.price, props.currency, locale))}</span>
  );
}

export type Costs = {
  cost?: string | null;
  cost_at?: string | null;
  price_per_hour?: string | null;
  currency?: string | null;
};

/** What something costs at a moment: what the server counted, and what has come since if it grows. */
export function costAt(costs: Costs, now: number): number | null {
  if (costs.cost == null) return null;
  const since = costs.cost_at ? Math.max(0, now - new Date(costs.cost_at).getTime()) : 0;
  return Number(costs.cost) + (Number(costs.price_per_hour ?? 0) * since) / 3_600_000;
}

/** What a job costs so far; it grows before one's eyes. */
export function Cost(props: { of: Costs }) {
  const locale = useLocale();
  const now = useNow(props.of.cost_at ? 1_000 : undefined);
  const amount = costAt(props.of, now);
  if (amount === null || !props.of.currency) return <span className="faint">–</span>;
  return <span className="number">{showMoney(amount, props.of.currency, locale)}</span>;
}
