import { useCloseEndpoint, useEndpointLink, useOpenEndpoint, type Endpoint } from "@/api/endpoints";
import { Button } from "@/parts/Button";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { showPage } from "./showPage";

/** What is open, and for whom. */
export function EndpointsTable(props: { job: string; all: Endpoint[]; isOver: boolean }) {
  const { endpoints: texts } = useTexts();
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={texts.title}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{texts.name}</th>
            <th scope="col">{texts.sharedWith}</th>
            <th scope="col">
              <span className="hidden-visually">{texts.open}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.all.map((one) => (
            <tr key={one.name}>
              <td>{one.name}</td>
              <td>{one.is_shared ? texts.project : texts.owner}</td>
              <td className="end">
                <Actions job={props.job} of={one} isOver={props.isOver} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Actions(props: { job: string; of: Endpoint; isOver: boolean }) {
  const { endpoints: texts } = useTexts();
  const { say, complain } = useMessages();
  const link = useEndpointLink(props.job);
  const close = useCloseEndpoint(props.job);
  const share = useOpenEndpoint(props.job);
  const { name, is_shared: isShared } = props.of;
  return (
    <>
      {!props.isOver && name !== "ssh" && (
        <Button
          isSmall
          kind="primary"
          onClick={() => {
            showPage(() => link.mutateAsync(name), complain);
          }}
        >
          {texts.open}
        </Button>
      )}{" "}
      {!props.isOver && (
        <Button
          isSmall
          onClick={() => {
            share.mutate({ endpoint: name, isShared: !isShared }, { onError: complain });
          }}
        >
          {isShared ? texts.unshare : texts.share}
        </Button>
      )}{" "}
      <Button
        isSmall
        kind="plain"
        icon="trash"
        label={texts.close}
        onClick={() => {
          close.mutate(name, {
            onSuccess: () => {
              say(texts.closed);
            },
            onError: complain,
          });
        }}
      />
    </>
  );
}
