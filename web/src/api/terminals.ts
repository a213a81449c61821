// Shells in running tasks: plain requests, one of which always waits for output.
import { api, ok } from "./client";

const MOST_INPUT = 48 << 10; // bytes per request; more becomes several
const AGAIN_MS = 1_000;

export type TerminalSize = { rows: number; columns: number };
export type OpenShell = {
  send: (data: string) => void;
  resize: (size: TerminalSize) => void;
  close: () => void;
};

/** Start a shell in a task. `onOutput` gets what it prints, `onEnd` its exit code or what went wrong. */
export async function openShell(
  task: { job: string; rank: number; size: TerminalSize },
  onOutput: (bytes: Uint8Array) => void,
  onEnd: (end: { code: number } | { error: unknown }) => void,
): Promise<OpenShell> {
  const { job, rank, size } = task;
  const opened = await ok(
    api.POST("/api/v1/jobs/{job}/terminals", { params: { path: { job } }, body: { rank, size } }),
  );
  const path = { job, terminal: opened.id };
  const over = new AbortController();
  const end = (how: Parameters<typeof onEnd>[0]) => {
    if (over.signal.aborted) return;
    over.abort();
    onEnd(how);
  };
  const read = async () => {
    let after = 0;
    while (!over.signal.aborted) {
      const found = await ok(
        api.GET("/api/v1/jobs/{job}/terminals/{terminal}/output", {
          params: { path, query: { after } },
          signal: over.signal,
        }),
      );
      after = found.next;
      if (found.data) onOutput(bytesOf(found.data));
      if (found.exit_code != null) {
        end({ code: found.exit_code });
        return;
      }
    }
  };
  read().catch((error: unknown) => {
    end({ error });
  });
  return {
    send: sender(path, over.signal, (error) => {
      end({ error });
    }),
    resize: (next) => {
      // a size that does not arrive is not worth a word
      ok(
        api.PUT("/api/v1/jobs/{job}/terminals/{terminal}/size", { params: { path }, body: next }),
      ).catch(() => undefined);
    },
    close: () => {
      if (over.signal.aborted) return;
      over.abort();
      ok(api.DELETE("/api/v1/jobs/{job}/terminals/{terminal}", { params: { path } })).catch(
        () => undefined, // it is closed by the server when nobody reads it
      );
    },
  };
}

/** Sends in order: what is typed while a request is on its way goes with the next one. */
function sender(
  path: { job: string; terminal: string },
  signal: AbortSignal,
  onError: (error: unknown) => void,
): (data: string) => void {
  let waiting: Uint8Array = new Uint8Array();
  let isSending = false;
  const run = async () => {
    while (waiting.length && !signal.aborted) {
      const part = waiting.subarray(0, MOST_INPUT);
      const answered = await api.POST("/api/v1/jobs/{job}/terminals/{terminal}/input", {
        params: { path },
        body: { data: base64Of(part) },
        signal,
      });
      if (answered.response.status === 429) {
        waiting = waiting.subarray(takenIn(answered.error));
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        continue;
      }
      await ok(Promise.resolve(answered));
      waiting = waiting.subarray(part.length);
    }
  };
  return (data) => {
    const more = new TextEncoder().encode(data);
    const joined = new Uint8Array(waiting.length + more.length);
    joined.set(waiting);
    joined.set(more, waiting.length);
    waiting = joined;
    if (isSending) return;
    isSending = true;
    run()
      .catch(onError)
      .finally(() => {
        isSending = false;
      });
  };
}

/** How many bytes a command that does not read took before the server gave up. */
function takenIn(error: unknown): number {
  const fields = (error as { fields?: Record<string, string> } | undefined)?.fields;
  return Number(fields?.taken ?? 0) || 0;
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
