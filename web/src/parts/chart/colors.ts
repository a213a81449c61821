// Colours of lines: distinct on both backgrounds; the first ones also for colour-blind users.
const LIGHT = [
  "#2f5fd0",
  "#d1591c",
  "#178a5c",
  "#b3398c",
  "#8a6d00",
  "#0f8aa8",
  "#7a4fd0",
  "#c22f3e",
];
const DARK = [
  "#7ea6ff",
  "#ff9a5c",
  "#55cf9d",
  "#ee86cc",
  "#dfc04a",
  "#55c8e6",
  "#b79bff",
  "#ff8088",
];

/** The colour of the n-th line. Beyond the first eight, hues as far from each other as they can be. */
export function colorOf(index: number, isDark: boolean): string {
  const few = isDark ? DARK : LIGHT;
  const chosen = few[index];
  if (chosen !== undefined) return chosen;
  const hue = Math.round((index * 137.508) % 360);
  const light = (isDark ? 68 : 38) + (index % 3) * 6;
  return `hsl(${String(hue)} 62% ${String(light)}%)`;
}
