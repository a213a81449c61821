// npm leaves packages for other systems out of the lock file when the registry it asked had not got them, and `npm ci`
// refuses such a lock file. This adds them by name and version; the registry that is asked later has the rest.
// Run by `npm run lock` after packages were added.
import { readFileSync, writeFileSync } from "node:fs";

const OS = {
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  win32: "win32",
};
const CPU = {
  x64: "x64",
  arm64: "arm64",
  arm: "arm",
  ppc64: "ppc64",
  s390x: "s390x",
  wasm32: "wasm32",
};

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const [, owner] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    if (lock.packages[place] || !/^\d/.test(version)) continue;
    const words = name.split(/[/-]/);
    const os =
      words.map((word) => OS[word]).find(Boolean) ??
      (words.includes("openharmony") ? "openharmony" : undefined);
    const libc = words.includes("musl") ? "musl" : words.includes("gnu") ? "glibc" : undefined;
    const cpu = words.map((word) => CPU[word]).find(Boolean);
    lock.packages[place] = {
      version,
      ...(cpu && { cpu: [cpu] }),
      dev: true,
      optional: true,
      ...(os && { os: [os] }),
      ...(libc && { libc: [libc] }),
    };
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
