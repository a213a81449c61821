// Bytes on their way to the server. fetch() does not tell how far it is; this does.
import { csrfHeaders } from "./client";
import { ApiProblem, problemOf } from "./problem";

export type Sending = { done: Promise<void>; stop: () => void };

/** PUT a file or bytes to an address. */
export function sendBytes(
  address: string,
  bytes: Blob,
  onProgress: (bytes: number) => void,
): Sending {
  const request = new XMLHttpRequest();
  const done = new Promise<void>((resolve, reject) => {
    request.open("PUT", address);
    for (const [name, value] of Object.entries(csrfHeaders()))
      request.setRequestHeader(name, value);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      onProgress(event.loaded);
    };
    request.onload = () => {
      if (request.status < 300) {
        resolve();
        return;
      }
      reject(
        problemOf(new Response(null, { status: request.status }), asJson(request.responseText)),
      );
    };
    request.onerror = () => {
      reject(new ApiProblem(0, "Unreachable", "", {}));
    };
    request.onabort = () => {
      reject(new DOMException("stopped", "AbortError"));
    };
    request.send(bytes);
  });
  return {
    done,
    stop: () => {
      request.abort();
    },
  };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
