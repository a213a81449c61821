import type { Schemas } from "@/api/client";
import { own } from "@/parts/own";
import type { Texts } from "@/texts/language";

type Action = Schemas["Action"];

// put in by the build, from the server's own description (vite.config.ts)
declare const __ACTIONS__: readonly Action[];

/** Every action that the server notes. */
export const ACTIONS: readonly Action[] = __ACTIONS__;

/** What an action is called; one of a newer server is shown as it is. */
export function actionName(action: string, names: Texts["actions"]): string {
  return own(names, action) ?? action;
}
