// Runs beside the page: gets files, answers with the digest of each.
import { digestOf, type Hashed } from "./hash";

self.onmessage = async ({ data }: MessageEvent<File[]>) => {
  for (const [at, file] of data.entries()) {
    try {
      const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
      // a browser does not tell which files may be executed: those that name their interpreter are
      const isScript = start[0] === 0x23 && start[1] === 0x21;
      tell({ at, sha256: await digestOf(file), isScript });
    } catch (error) {
      tell({ at, told: String(error) });
      return;
    }
  }
};

function tell(what: Hashed): void {
  self.postMessage(what);
}
