import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { compress } from "./build/compress.ts";
import { plotly } from "./build/plotly.ts";

const OUT = fileURLToPath(new URL("../src/danlu/console", import.meta.url));
const SERVER = process.env.DANLU_URL ?? "http://127.0.0.1:8400";

const COMMON = /[\\/]src[\\/](?:parts|api|foreign)[\\/][^\\/]+\.tsx?$/;

const API = fileURLToPath(new URL("../docs/reference/openapi.json", import.meta.url));
interface Described {
  components: { schemas: { Action: { enum: string[] } } };
}
const ACTIONS = (JSON.parse(readFileSync(API, "utf8")) as Described).components.schemas.Action.enum;

export default defineConfig({
  define: { __ACTIONS__: JSON.stringify(ACTIONS) },
  plugins: [react({ jsxImportSource: "@/foreign" }), plotly(OUT), compress(OUT)],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0, // data: addresses would need a looser policy
    target: "es2022",
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // what every page begins with is one file: browsers fetch six at a time, and each costs a way there and back
            { name: "start", tags: ["$initial"], priority: 2 },
            // so are the parts that most pages have
            { name: "common", test: COMMON, minShareCount: 6, priority: 1 },
          ],
        },
      },
    },
  },
  worker: { format: "es" }, // its libraries load when they are needed
  // `npm run dev` beside a running `danlu up`
  server: { proxy: { "/api": SERVER, "/signin/oidc": SERVER, "/signin/cli": SERVER } },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    testTimeout: 60_000, // a slow machine is not a fault
  },
});
