// Streams: reconnected after a break, resumed where they ended, closed while the tab is hidden.
import { useEffect, useEffectEvent, useState } from "react";
import { problemOf, type ApiProblem } from "./problem";
import { eventsOf, type ServerEvent } from "./sse";

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 15_000;
const SILENCE_MS = 45_000; // the server says something every 15 s
const UNSEEN_MS = 20_000;

export type StreamState = "connecting" | "live" | "broken" | "over";

export type StreamOptions = {
  /** Asked before each connection: what was read already need not come again. */
  address: () => string;
  onEvent: (event: ServerEvent) => void;
  /** Whether nothing more is to come: then a clean end is the end. */
  isOver?: () => boolean;
  onState?: (state: StreamState, problem?: ApiProblem) => void;
};

/** Follow a stream until the returned function is called. */
export function follow(options: StreamOptions): () => void {
  let stopped = false;
  let current: AbortController | undefined;
  let hiddenSince: number | undefined;
  let wake: () => void = () => undefined;

  const say = (state: StreamState, problem?: ApiProblem) => {
    if (!stopped) options.onState?.(state, problem);
  };
  const onVisibility = () => {
    // browsers have six connections to a server for all their tabs; a hidden tab holds none
    if (document.hidden) {
      hiddenSince = Date.now();
      setTimeout(() => {
        if (hiddenSince !== undefined && Date.now() - hiddenSince >= UNSEEN_MS) current?.abort();
      }, UNSEEN_MS + 50);
    } else {
      hiddenSince = undefined;
      wake();
    }
  };
  document.addEventListener("visibilitychange", onVisibility);

  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    let pause = FIRST_PAUSE_MS;
    say("connecting");
    while (!stopped) {
      current = new AbortController();
      const outcome = await readOnce(options, current, () => {
        pause = FIRST_PAUSE_MS;
        say("live");
      });
      if (stopped) return;
      if (outcome.problem && isFinal(outcome.problem.status)) {
        say("broken", outcome.problem); // it will not get better by asking again
        return;
      }
      if (outcome.isClean && (options.isOver?.() ?? false)) {
        say("over");
        return;
      }
      say("broken", outcome.problem);
      await rest(document.hidden ? 3_600_000 : pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  };
  void run();

  return () => {
    stopped = true;
    document.removeEventListener("visibilitychange", onVisibility);
    current?.abort();
    wake();
  };
}

/** Too late (408) and too many (429) may be fine another time. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

type Outcome = { isClean: boolean; problem?: ApiProblem };

async function readOnce(
  options: StreamOptions,
  controller: AbortController,
  onOpen: () => void,
): Promise<Outcome> {
  let timer = setTimeout(() => {
    controller.abort();
  }, SILENCE_MS);
  try {
    const response = await fetch(options.address(), {
      signal: controller.signal,
      headers: { Accept: "text/event-stream" },
    });
    if (!response.ok || !response.body) {
      return {
        isClean: false,
        problem: problemOf(response, await response.json().catch(() => undefined)),
      };
    }
    onOpen();
    const onPiece = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        controller.abort();
      }, SILENCE_MS);
    };
    for await (const event of eventsOf(response.body, onPiece)) options.onEvent(event);
    return { isClean: true };
  } catch {
    return { isClean: false };
  } finally {
    clearTimeout(timer);
  }
}

/** Follow a stream while a component is there; `key` is what the stream is about, undefined for none. */
export function useStream(key: string | undefined, options: StreamOptions): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const address = useEffectEvent(options.address);
  const onEvent = useEffectEvent(options.onEvent);
  const isOver = useEffectEvent(() => options.isOver?.() ?? false);
  const onState = useEffectEvent((next: StreamState, problem?: ApiProblem) => {
    setState(next);
    options.onState?.(next, problem);
  });
  useEffect(() => {
    if (key === undefined) return undefined;
    return follow({
      address: () => address(),
      onEvent: (event) => {
        onEvent(event);
      },
      isOver: () => isOver(),
      onState: (next, problem) => {
        onState(next, problem);
      },
    });
  }, [key]);
  return state;
}
