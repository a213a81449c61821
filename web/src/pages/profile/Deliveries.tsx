import { useQuery } from "@tanstack/react-query";
import { deliveriesQuery, useTryWebhook } from "@/api/notices";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { told } from "@/texts/told";

/** What was sent to a webhook, and what became of it. */
export function Deliveries(props: { webhook: string; onClose: () => void }) {
  const { notices: texts, profile, common, messages } = useTexts();
  const { complain } = useMessages();
  const deliveries = useQuery(deliveriesQuery(props.webhook));
  const tryOut = useTryWebhook();
  return (
    <Dialog title={texts.deliveries} isWide onClose={props.onClose}>
      <Found of={deliveries}>
        {(sent) =>
          !sent.length ? (
            <p className="muted">{texts.noDeliveries}</p>
          ) : (
            <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.deliveries}>
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">{texts.events}</th>
                    <th scope="col">{profile.created}</th>
                    <th scope="col">{texts.state}</th>
                    <th scope="col">{texts.tries}</th>
                    <th scope="col">{texts.answer}</th>
                  </tr>
                </thead>
                <tbody>
                  {sent.map((one) => (
                    <tr key={one.id}>
                      <td>{texts.kinds[one.kind]}</td>
                      <td>
                        <Ago at={one.created_at} />
                      </td>
                      <td>{texts.states[one.state]}</td>
                      <td className="number">{one.num_tries}</td>
                      <td className="tall wrap">
                        {told(messages, one.said, one.problem) || one.status}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Found>
      <div className="actions">
        <Button
          isBusy={tryOut.isPending}
          onClick={() => {
            tryOut.mutate(props.webhook, { onError: complain });
          }}
        >
          {texts.tryOut}
        </Button>
        <Button kind="primary" onClick={props.onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  );
}
