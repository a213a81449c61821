import { useState, type ReactNode } from "react";
import { Button } from "@/parts/Button";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { Found, type Asked } from "@/parts/Found";
import type { IconName } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { OfferMenu, type Offer, type OfferChanges } from "./OfferMenu";
import styles from "./admin.module.css";

/** A table of what jobs can ask for by name, to add to and to change. */
export function Offers<One extends Offer>(props: {
  found: Asked<One[]>;
  changes: OfferChanges;
  /** Those between the name and the description. */
  columns: readonly Column<One>[];
  texts: { label: string; about: string; add: string; none: string; noneText: string };
  icon: IconName;
  /** Beside the way to add one, where there is none. */
  beginning?: ReactNode;
  /** A window to add one, or to change the one that is given. */
  dialog: (edited: One | undefined, close: () => void) => ReactNode;
}) {
  const { texts } = props;
  const { flavors: own } = useTexts();
  const [edited, setEdited] = useState<One | "new">();
  const [sort, setSort] = useState<Sort>({ by: "name", isDown: false });
  const add = (
    <Button
      icon="plus"
      kind="primary"
      onClick={() => {
        setEdited("new");
      }}
    >
      {texts.add}
    </Button>
  );
  const columns: Column<One>[] = [
    {
      id: "name",
      title: own.name,
      isClipped: true,
      sort: (one) => one.name,
      cell: (one) => (
        <>
          {!one.is_enabled && <span className="badge">{own.disabled}</span>}{" "}
          <strong title={one.name}>{one.name}</strong>
        </>
      ),
    },
    ...props.columns,
    {
      id: "description",
      title: own.description,
      isClipped: true,
      isWideOnly: true,
      cell: (one) => (
        <span className="muted" title={one.description}>
          {one.description || "–"}
        </span>
      ),
    },
    {
      id: "actions",
      title: "",
      isEnd: true,
      cell: (one) => (
        <OfferMenu
          offer={one}
          changes={props.changes}
          onEdit={() => {
            setEdited(one);
          }}
        />
      ),
    },
  ];
  return (
    <>
      <Found of={props.found}>
        {(offers) =>
          offers.length ? (
            <>
              <div className={styles.about}>
                <p className="muted">{texts.about}</p>
                {add}
              </div>
              <DataTable
                label={texts.label}
                rows={sorted(offers, columns, sort)}
                columns={columns}
                rowId={(one) => one.name}
                sort={sort}
                onSort={setSort}
              />
            </>
          ) : (
            <Empty
              icon={props.icon}
              title={texts.none}
              actions={
                <>
                  {add}
                  {props.beginning}
                </>
              }
            >
              <p>{texts.noneText}</p>
            </Empty>
          )
        }
      </Found>
      {edited !== undefined &&
        props.dialog(edited === "new" ? undefined : edited, () => {
          setEdited(undefined);
        })}
    </>
  );
}
