type Of = Record<string, string>;

/** What is wrong, from the details of an alert, which are put into words before. */
const alerts = {
  device_idle: (of: Of) =>
    `The ${of.num_devices ?? ""} devices of rank ${of.rank ?? ""} have been idle for ${of.idle_seconds ?? ""}.`,
  memory_high: (of: Of) =>
    `Rank ${of.rank ?? ""} uses ${of.used_bytes ?? ""} of its ${of.limit_bytes ?? ""} of memory.`,
  silent: (of: Of) =>
    `No log and no metric for ${of.silent_seconds ?? ""}. Rank ${of.rank ?? ""} fell silent first.`,
  ends_idle: (of: Of) =>
    `Nobody has used it for ${of.idle_seconds ?? ""}. It ends in ${of.left_seconds ?? ""} unless somebody does.`,
  loss_not_finite: (of: Of) => `${of.metric ?? ""} is ${of.value ?? ""} at step ${of.step ?? ""}.`,
  disk_full_soon: (of: Of) =>
    `Only ${of.free_bytes ?? ""} of ${of.total_bytes ?? ""} are free on the disk of ${of.folder ?? ""}.`,
};

export const notices = {
  title: "Notices",
  none: "Nothing has happened yet.",
  unread: (count: number) => `${String(count)} unread`,
  byBrowser: "Show as browser notifications",
  notAllowed: "The browser does not allow notifications of this site.",
  platform: "Platform",
  alerts,
  remedies: {
    device_idle: "Stop the job if it hangs or nobody uses it.",
    memory_high: "Load less at once, or start the job with more memory.",
    silent: "Open a shell in this rank and see where it waits.",
    ends_idle: "Open its notebook or a shell if you still need it.",
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
    test: "Test",
  },
  email: "Email",
  emailText: (address: string) => `Events of your own jobs that are sent to ${address}.`,
  noAddress: "Your account has no email address.",
  noMail: "This server does not send email.",
  saved: "Saved",
  webhooks: "Webhooks",
  webhooksText: "Addresses that are told of events of your jobs. Deliveries are signed.",
  noWebhooks: "You have no webhooks.",
  addWebhook: "Add webhook",
  url: "Address",
  urlHint: "Begins with https:// and is reachable from the server.",
  events: "Events",
  secretTitle: "The secret of this webhook",
  secretText: "Deliveries are signed with it. It is shown only once.",
  deliveries: "Deliveries",
  noDeliveries: "Nothing has been sent yet.",
  tryOut: "Send test event",
  removeTitle: "Remove this webhook?",
  removeText: (url: string) => `Nothing more is sent to ${url}.`,
  removed: "The webhook was removed",
  state: "State",
  tries: "Tries",
  answer: "Response",
  states: { waiting: "waiting", delivered: "delivered", failed: "failed" },
};
