import type { Schemas } from "@/api/client";

type Action = Schemas["Action"];

// put in by the build, from the server's own description (vite.config.ts)
declare const __ACTIONS__: readonly Action[];

/** Every action that the server notes. */
export const ACTIONS: readonly Action[] = __ACTIONS__;
