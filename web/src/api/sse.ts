import { createParser } from "eventsource-parser";

export type ServerEvent = { name: string; data: string };

const MOST_CHARACTERS = 16 << 20;

/** The events of an answer, each as soon as it is whole. `onPiece` is called for all that comes, comments too. Throws
 * when the connection breaks, or when one event is longer than anything the server sends. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onPiece?: () => void,
  mostCharacters = MOST_CHARACTERS,
): AsyncGenerator<ServerEvent, void, undefined> {
  const whole: ServerEvent[] = [];
  const parser = createParser({
    maxBufferSize: mostCharacters,
    onEvent: ({ event = "message", data }) => {
      whole.push({ name: event, data });
    },
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") throw error;
    },
  });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPiece?.();
      parser.feed(value);
      yield* whole.splice(0);
    }
  } finally {
    await reader.cancel();
  }
}
