type Link = { url: string } | undefined;

/** Open a page whose address is not known yet. At once, because of the click: a browser blocks pages that open by themselves. */
export function showPage(
  find: (isWanted: () => boolean) => Promise<Link>,
  complain: (error: unknown) => void,
  waiting = "",
) {
  const page = window.open("about:blank");
  if (page) {
    page.opener = null;
    page.document.title = waiting;
    page.document.body.textContent = waiting;
  }
  find(() => page !== null && !page.closed).then(
    (link) => {
      if (page && link) page.location.href = link.url;
    },
    (error: unknown) => {
      page?.close();
      complain(error);
    },
  );
}
