// Pages are loaded when they are first shown. A server that is away at that moment must not cost the page.
import { lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";
import { isAnswering } from "@/api/client";

const LOOK_AGAIN_MS = 1_000;
const RELOADED = "danlu.reloaded";

type Pages = Record<string, React.ComponentType>;

/** A component of a file that is fetched when it is needed, also when the server comes back only later. The types of
 * pages depend on that of the router, so that `load` cannot say more about them. */
export function page(load: () => Promise<unknown>, name: string): RouteComponent {
  return lazyRouteComponent(() => loaded(load as () => Promise<Pages>), name);
}

async function loaded(load: () => Promise<Pages>): Promise<Pages> {
  try {
    const found = await load();
    forget();
    return found;
  } catch (error) {
    const wasAway = await untilAnswered();
    // the browser may remember that the file did not come, and after an update the file has another name: load anew.
    // What fails right after that, with a server that answers, is a fault, and is shown.
    if (!wasAway && sessionStorage.getItem(RELOADED) !== null) throw error;
    sessionStorage.setItem(RELOADED, "1");
    location.reload();
    return new Promise(() => undefined);
  }
}

/** Waits for the server; says whether it was away. */
async function untilAnswered(): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    if (await isAnswering()) return tries > 0;
    window.dispatchEvent(new Event("danlu:away"));
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

function forget(): void {
  sessionStorage.removeItem(RELOADED);
}
