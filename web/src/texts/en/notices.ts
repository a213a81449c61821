type Of = Record<string, string>;

/** What is wrong, from the details of an alert, which are put into words before. */
const alerts = {
  device_idle: (of: Of) =>
    `The ${of.num_devices ?? ""} devices of rank ${of.rank ?? ""} have been idle for ${of.idle_seconds ?? ""}.`,
  memory_high: (of: Of) =>
    `Rank ${of.rank ?? ""} uses ${of.used_bytes ?? ""} of its ${of.limit_bytes ?? ""} of memory.`,
  silent: (of: Of) =>
    `No log and no metric for ${of.silent_seconds ?? ""}. Rank ${of.rank ?? ""} was the first to go silent.`,
  ends_idle: (of: Of) =>
    `Idle for ${of.idle_seconds ?? ""}. It will be stopped in ${of.left_seconds ?? ""} unless it is used.`,
  loss_not_finite: (of: Of) => `${of.metric ?? ""} is ${of.value ?? ""} at step ${of.step ?? ""}.`,
  disk_full_soon: (of: Of) =>
    `Only ${of.free_bytes ?? ""} of ${of.total_bytes ?? ""} are free on the disk of ${of.folder ?? ""}.`,
};

export const notices = {
  title: "Notices",
  none: "No notices yet.",
  unread: (count: number) => `${String(count)} unread`,
  byBrowser: "Show as browser notifications",
  notAllowed: "This browser blocks notifications from this site.",
  platform: "Platform",
  alerts,
  remedies: {
    device_idle: "Stop the job if it hangs or is not needed.",
    memory_high: "Reduce the batch size or the number of data workers, or request more memory.",
    silent: "Open a terminal in this rank and check where it hangs.",
    ends_idle: "Open its notebook or a terminal if you still need it.",
    loss_not_finite:
      "Stop the job and continue from an older checkpoint with a lower learning rate.",
    disk_full_soon: "Delete old jobs, runs and files, or add disk space.",
  },
  kinds: {
    "job.succeeded": "Job succeeded",
    "job.failed": "Job failed",
    "job.stopped": "Job stopped",
    "alert.opened": "Alert opened",
    "alert.closed": "Alert closed",
    "run.alert": "Alert from a script",
    test: "Test",
  },
  email: "Email",
  emailText: (address: string) => `Events of your own jobs to send to ${address}:`,
  noAddress: "Your account has no email address.",
  noMail: "This server does not send email.",
  saved: "Saved",
  webhooks: "Webhooks",
  webhooksText: "Addresses that receive events of your jobs. Deliveries are signed.",
  noWebhooks: "You have no webhooks.",
  addWebhook: "Add webhook",
  url: "Address",
  urlHint: "Begins with https:// and is reachable from the server.",
  events: "Events",
  secretTitle: "Webhook secret",
  secretText: "Deliveries are signed with it. It is shown only once.",
  deliveries: "Deliveries",
  noDeliveries: "No deliveries yet.",
  tryOut: "Send test event",
  removeTitle: "Remove this webhook?",
  removeText: (url: string) => `Events will no longer be sent to ${url}.`,
  removed: "The webhook was removed",
  state: "State",
  tries: "Tries",
  answer: "Response",
  states: { waiting: "waiting", delivered: "delivered", failed: "failed" },
};
