import { expect, test } from "vitest";
import { costAt, showMoney, showPrice } from "./money";

test("a price is shown in full, with the sign of its currency in every language", () => {
  expect(showPrice("18.4008", "CNY", "en")).toBe("¥18.4008");
  expect(showPrice("18.4008", "CNY", "zh-CN")).toBe("¥18.4008");
  expect(showPrice("0.00", "USD", "en")).toBe("$0.00");
});

test("a short job does not look free", () => {
  expect(showMoney(0.00421, "CNY", "en")).toBe("¥0.0042");
  expect(showMoney(1234.567, "CNY", "en")).toBe("¥1,234.57");
  expect(showMoney(0, "CNY", "en")).toBe("¥0.00");
});

test("a cost grows from the moment it was counted, and only while it does", () => {
  const at = "2026-01-01T12:00:00Z";
  const now = new Date(at).getTime() + 1_800_000;
  expect(costAt({ cost: "1.50", price_per_hour: "3.00", cost_at: at }, now)).toBe(3);
  expect(costAt({ cost: "1.50", price_per_hour: "3.00", cost_at: null }, now)).toBe(1.5);
  expect(costAt({ cost: null }, now)).toBeNull();
});
