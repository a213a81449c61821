// SHA-256 (FIPS 180-4), piece by piece. Browsers have it built in, but not on pages that came over plain HTTP from
// another machine, and never in pieces: a large file would have to be in memory at once.

const BLOCK = 64;

/** The first 32 bits of the fractional parts of a root of the first primes. */
function rootsOfPrimes(count: number, root: (prime: number) => number): Uint32Array {
  const found = new Uint32Array(count);
  for (let prime = 2, at = 0; at < count; prime++) {
    if (isPrime(prime)) found[at++] = (root(prime) % 1) * 2 ** 32;
  }
  return found;
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++)
    if (number % divisor === 0) return false;
  return true;
}

const ROUNDS = rootsOfPrimes(64, Math.cbrt);
const START = rootsOfPrimes(8, Math.sqrt);

export class Sha256 {
  private readonly state = START.slice();
  private readonly words = new Uint32Array(64);
  private readonly rest = new Uint8Array(BLOCK);
  private numRest = 0;
  private numBytes = 0;

  update(data: Uint8Array): this {
    this.numBytes += data.length;
    let at = 0;
    if (this.numRest) {
      at = Math.min(BLOCK - this.numRest, data.length);
      this.rest.set(data.subarray(0, at), this.numRest);
      this.numRest += at;
      if (this.numRest < BLOCK) return this;
      this.take(this.rest, 0);
      this.numRest = 0;
    }
    for (; at + BLOCK <= data.length; at += BLOCK) this.take(data, at);
    this.rest.set(data.subarray(at));
    this.numRest = data.length - at;
    return this;
  }

  /** The digest in hexadecimal. Nothing can be added after it. */
  hex(): string {
    const numBits = this.numBytes * 8;
    const padding = new Uint8Array((this.numRest < 56 ? 56 : 120) - this.numRest + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(numBits / 2 ** 32));
    view.setUint32(padding.length - 4, numBits >>> 0);
    this.update(padding);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  private take(data: Uint8Array, from: number): void {
    const { words, state } = this;
    const view = new DataView(data.buffer, data.byteOffset + from, BLOCK);
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(i * 4);
    for (let i = 16; i < 64; i++) {
      const early = words[i - 15] as number;
      const late = words[i - 2] as number;
      const low = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const high = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[i] = (words[i - 16] as number) + low + (words[i - 7] as number) + high;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
    for (let i = 0; i < 64; i++) {
      const sumE = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const choice = (e & f) ^ (~e & g);
      const first = (h + sumE + choice + (ROUNDS[i] as number) + (words[i] as number)) | 0;
      const sumA = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + sumA + majority) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => {
      state[at] = (state[at] as number) + word;
    });
  }
}

type Eight = [number, number, number, number, number, number, number, number];

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
