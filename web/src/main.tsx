import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onSignedOut } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery } from "@/api/session";
import { MessageArea } from "@/parts/Messages";
import { makeRouter } from "@/router";
import { loadTexts, preferredLanguage, Speaking } from "@/texts/language";
import "@/styles/index.css";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // what the server refuses, it refuses again
      retry: (count, error) => asProblem(error).status === 0 && count < 8,
      retryDelay: (count) => Math.min(500 * 2 ** count, 10_000),
      refetchOnWindowFocus: false,
    },
  },
});
const router = makeRouter(client);

onSignedOut(() => {
  if (client.getQueryData(meQuery.queryKey)) {
    client.setQueryData(meQuery.queryKey, null);
    void router.invalidate();
  }
});

/** No `await` at the top of the file: the texts' file imports from the one this is in, and would wait for it. */
async function begin(): Promise<void> {
  void client.prefetchQuery(meQuery); // every page needs it; it comes while the texts do
  const language = preferredLanguage();
  const texts = await loadTexts(language);
  const place = document.getElementById("root");
  if (!place) return;
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Speaking language={language} texts={texts}>
          <MessageArea>
            <RouterProvider router={router} />
          </MessageArea>
        </Speaking>
      </QueryClientProvider>
    </StrictMode>,
  );
}

void begin();
