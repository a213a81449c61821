import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { mediaQuery, runAlertsQuery, type Media, type Run } from "@/api/runs";
import { texts } from "@/texts/en";
import { Speaking } from "@/texts/language";
import { MediaGallery } from "./MediaGallery";
import { ScriptAlerts } from "./ScriptAlerts";

const KEPT = { defaultOptions: { queries: { staleTime: Infinity } } };
const RUN = { id: "run-1" } as Run;

afterEach(() => vi.unstubAllGlobals());

async function shown(client: QueryClient, children: ReactNode): Promise<HTMLElement> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const box = document.createElement("div");
  await act(async () => {
    createRoot(box).render(
      <QueryClientProvider client={client}>
        <Speaking language="en" texts={texts}>
          {children}
        </Speaking>
      </QueryClientProvider>,
    );
    await Promise.resolve();
  });
  return box;
}

test("what a script says is text, hides nothing, and may have any time", async () => {
  const client = new QueryClient(KEPT);
  const alert = { id: 1, level: "constructor", step: 7, is_told: true, time: 1e300 };
  client.setQueryData(runAlertsQuery(RUN.id).queryKey, [
    { ...alert, title: "loss\u202Ecod.exe", text: "one\u0007\n<b>two</b>\u200B" },
  ]);
  const box = await shown(client, <ScriptAlerts run={RUN} />);
  const entry = box.querySelector("li");
  expect(entry?.querySelector("strong")?.textContent).toBe("loss\\u202Ecod.exe");
  expect(entry?.querySelector("p")?.textContent).toBe("one\\u0007\n<b>two</b>\\u200B");
  expect(entry?.textContent).toContain("– · Step 7");
});

test.each(["text/html", "application/vnd.plotly.v1+json"])(
  "what was logged as a page (%s) is fetched by its frame alone",
  async (format) => {
    const fetched = vi.fn(() => new Promise(() => undefined));
    vi.stubGlobal("fetch", fetched);
    const client = new QueryClient(KEPT);
    const page = { id: "j:24", kind: "html", type: "val", name: "report", format, time: 0 };
    const image = { ...page, id: "j:99", kind: "image", name: "sample", format: "image/png" };
    client.setQueryData(mediaQuery(RUN.id).queryKey, [page, image] as Media[]);
    const box = await shown(client, <MediaGallery run={RUN.id} />);
    expect(box.querySelector("iframe")?.getAttribute("src")).toContain("j%3A24/page");
    const asked = fetched.mock.calls.map((call: unknown[]) => String(call[0]));
    expect(asked.filter((address) => address.includes("j%3A24"))).toEqual([]);
    expect(asked.filter((address) => address.includes("j%3A99"))).toHaveLength(1);
  },
);
