const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Compare names as people count: layer2 comes before layer10. */
export function naturally(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
