import { useQuery } from "@tanstack/react-query";
import { useSetWishes, wishesQuery, type EventKind } from "@/api/notices";
import { CheckField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

export const EVENTS: readonly EventKind[] = [
  "job.succeeded",
  "job.failed",
  "job.stopped",
  "alert.opened",
  "run.alert",
  "alert.closed",
];

/** Which events one gets an e-mail for. */
export function NoticesPanel() {
  const { notices: texts } = useTexts();
  const { say, complain } = useMessages();
  const wishes = useQuery(wishesQuery);
  const set = useSetWishes();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.email}</h2>
      </div>
      <Found of={wishes}>
        {(mine) => (
          <div className="panel-body">
            <p className="muted">
              {!mine.has_mail
                ? texts.noMail
                : mine.address
                  ? texts.emailText(mine.address)
                  : texts.noAddress}
            </p>
            {mine.has_mail &&
              mine.address &&
              EVENTS.map((kind) => (
                <CheckField
                  key={kind}
                  label={texts.kinds[kind]}
                  checked={mine.email.includes(kind)}
                  disabled={set.isPending}
                  onChange={(event) => {
                    const others = mine.email.filter((one) => one !== kind);
                    set.mutate(event.target.checked ? [...others, kind] : others, {
                      onSuccess: () => {
                        say(texts.saved);
                      },
                      onError: complain,
                    });
                  }}
                />
              ))}
          </div>
        )}
      </Found>
    </section>
  );
}
