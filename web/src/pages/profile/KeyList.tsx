import { useState, type ReactNode } from "react";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Dialog";
import { Found, type Asked } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

type Column<Key> = { title: string; isWideOnly?: boolean; cell: (key: Key) => ReactNode };

type Words = {
  title: string;
  text: string;
  empty: string;
  add: string;
  deleteTitle: string;
  deleteText: (name: string) => string;
  deleted: string;
};

type Remove = {
  isPending: boolean;
  mutate: (id: string, then: { onSuccess: () => void; onError: (error: Error) => void }) => void;
};

/** A panel of keys: a table, a dialog to add one, and a confirmation before one is deleted. */
export function KeyList<Key extends { id: string }>(props: {
  keys: Asked<Key[]>;
  words: Words;
  /** After the name. */
  columns: Column<Key>[];
  nameTitle: string;
  /** What the table shows as its name. */
  name: (key: Key) => string;
  /** What the confirmation calls it. */
  fullName: (key: Key) => string;
  remove: Remove;
  dialog: (onClose: () => void) => ReactNode;
}) {
  const { common } = useTexts();
  const { say, complain } = useMessages();
  const { words, remove } = props;
  const [isAdding, setIsAdding] = useState(false);
  const [leaving, setLeaving] = useState<Key>();
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{words.title}</h2>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            setIsAdding(true);
          }}
        >
          {words.add}
        </Button>
      </div>
      <p className="panel-body muted">{words.text}</p>
      <Found of={props.keys}>
        {(mine) =>
          !mine.length ? (
            <p className="panel-body muted">{words.empty}</p>
          ) : (
            <div className="table-scroll" tabIndex={0} role="region" aria-label={words.title}>
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">{props.nameTitle}</th>
                    {props.columns.map((column) => (
                      <th key={column.title} scope="col" className={classOf(column)}>
                        {column.title}
                      </th>
                    ))}
                    <th scope="col">
                      <span className="hidden-visually">{common.delete}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {mine.map((key) => (
                    <tr key={key.id}>
                      <td className="tall wrap">{props.name(key)}</td>
                      {props.columns.map((column) => (
                        <td key={column.title} className={classOf(column)}>
                          {column.cell(key)}
                        </td>
                      ))}
                      <td className="end">
                        <Button
                          kind="plain"
                          isSmall
                          icon="trash"
                          label={common.delete}
                          onClick={() => {
                            setLeaving(key);
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
      {isAdding &&
        props.dialog(() => {
          setIsAdding(false);
        })}
      {leaving && (
        <Confirm
          title={words.deleteTitle}
          names={[props.fullName(leaving)]}
          text={words.deleteText(props.fullName(leaving))}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setLeaving(undefined);
          }}
          onConfirm={() => {
            remove.mutate(leaving.id, {
              onSuccess: () => {
                say(words.deleted);
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

function classOf(column: { isWideOnly?: boolean }) {
  return column.isWideOnly ? "wide-only" : undefined;
}
