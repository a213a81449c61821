import type { Schemas } from "@/api/client";

type Action = Schemas["Action"];

/** Every action that the server notes; one that is missing here does not compile. */
const KNOWN: Record<Action, true> = {
  "bucket.delete": true,
  "bucket.make": true,
  "bucket.move": true,
  "folder.delete": true,
  "folder.make": true,
  "folder.move": true,
  "job.delete": true,
  "job.enter": true,
  "job.pause": true,
  "job.resume": true,
  "job.start": true,
  "job.stop": true,
  "job.submit": true,
  "key.delete": true,
  "key.make": true,
  "member.remove": true,
  "member.set": true,
  "object.delete": true,
  "object.put": true,
  "project.change": true,
  "project.delete": true,
  "project.make": true,
  "quota.set": true,
  "registration.approve": true,
  "registration.make": true,
  "registration.reject": true,
  "run.change": true,
  "run.delete": true,
  "run.make": true,
  "run.purge": true,
  "run.restore": true,
  "session.close": true,
  "session.open": true,
  "user.change": true,
  "user.disable": true,
  "user.enable": true,
  "user.invite": true,
  "user.link": true,
  "user.password": true,
};

export const ACTIONS = Object.keys(KNOWN).sort() as Action[];
