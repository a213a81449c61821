import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useRemoveWebhook, webhooksQuery, type Webhook } from "@/api/notices";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Dialog";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { AddWebhook } from "./AddWebhook";
import { Deliveries } from "./Deliveries";

export function WebhooksPanel() {
  const { notices: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const webhooks = useQuery(webhooksQuery);
  const remove = useRemoveWebhook();
  const [isAdding, setIsAdding] = useState(false);
  const [shown, setShown] = useState<Webhook>();
  const [leaving, setLeaving] = useState<Webhook>();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.webhooks}</h2>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            setIsAdding(true);
          }}
        >
          {texts.addWebhook}
        </Button>
      </div>
      <p className="panel-body muted">{texts.webhooksText}</p>
      <Found of={webhooks}>
        {(mine) =>
          !mine.length ? (
            <p className="panel-body muted">{texts.noWebhooks}</p>
          ) : (
            <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.webhooks}>
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">{texts.url}</th>
                    <th scope="col" className="wide-only">
                      {texts.events}
                    </th>
                    <th scope="col">
                      <span className="hidden-visually">{common.delete}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {mine.map((one) => (
                    <tr key={one.id}>
                      <td className="tall wrap">{one.url}</td>
                      <td className="tall wrap wide-only">
                        {one.kinds.map((kind) => texts.kinds[kind]).join(", ")}
                      </td>
                      <td className="end">
                        <Button
                          isSmall
                          onClick={() => {
                            setShown(one);
                          }}
                        >
                          {texts.deliveries}
                        </Button>
                        <Button
                          kind="plain"
                          isSmall
                          icon="trash"
                          label={common.delete}
                          onClick={() => {
                            setLeaving(one);
                          }}
                        />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Found>
      {isAdding && (
        <AddWebhook
          onClose={() => {
            setIsAdding(false);
          }}
        />
      )}
      {shown && (
        <Deliveries
          webhook={shown.id}
          onClose={() => {
            setShown(undefined);
          }}
        />
      )}
      {leaving && (
        <Confirm
          title={texts.removeTitle}
          names={[leaving.url]}
          text={texts.removeText(leaving.url)}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setLeaving(undefined);
          }}
          onConfirm={() => {
            remove.mutate(leaving.id, {
              onSuccess: () => {
                say(texts.removed);
                setLeaving(undefined);
              },
              onError: complain,
            });
          }}
        />
      )}
    </section>
  );
}
