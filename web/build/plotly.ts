import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const MADE = fileURLToPath(
  new URL("../node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js", import.meta.url),
);

/** Puts Plotly.js beside the console: frames with figures load it, the console itself never does. */
export function plotly(folder: string): Plugin {
  return {
    name: "plotly",
    apply: "build",
    closeBundle() {
      copyFileSync(MADE, join(folder, "plotly.min.js"));
    },
  };
}
