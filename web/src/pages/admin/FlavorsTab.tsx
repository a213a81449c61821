import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  flavorsQuery,
  suggestionsQuery,
  useChangeFlavor,
  useDeleteFlavor,
  useMakeFlavors,
  type Flavor,
} from "@/api/flavors";
import { Button } from "@/parts/Button";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { shapeOf } from "@/parts/flavor";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { PerHour } from "@/parts/money";
import { useTexts, type Texts } from "@/texts/language";
import { FlavorDialog } from "./FlavorDialog";
import { OfferMenu } from "./OfferMenu";
import styles from "./admin.module.css";

/** Machine shapes with prices that jobs can ask for by name. */
export function FlavorsTab() {
  const all = useTexts();
  const { flavors: texts } = all;
  const found = useQuery(flavorsQuery);
  const [edited, setEdited] = useState<Flavor | "new">();
  const [sort, setSort] = useState<Sort>({ by: "name", isDown: false });
  const add = (
    <Button
      icon="plus"
      kind="primary"
      onClick={() => {
        setEdited("new");
      }}
    >
      {texts.addFlavor}
    </Button>
  );
  const columns = flavorColumns(all, setEdited);
  return (
    <>
      <Found of={found}>
        {(flavors) =>
          flavors.length ? (
            <>
              <div className={styles.about}>
                <p className="muted">{texts.flavorsText}</p>
                {add}
              </div>
              <DataTable
                label={texts.flavors}
                rows={sorted(flavors, columns, sort)}
                columns={columns}
                rowId={(flavor) => flavor.name}
                sort={sort}
                onSort={setSort}
              />
            </>
          ) : (
            <Empty
              icon="cluster"
              title={texts.noFlavors}
              actions={
                <>
                  {add}
                  <AddSuggested />
                </>
              }
            >
              <p>{texts.noFlavorsText}</p>
            </Empty>
          )
        }
      </Found>
      {edited !== undefined && (
        <FlavorDialog
          flavor={edited === "new" ? undefined : edited}
          onClose={() => {
            setEdited(undefined);
          }}
        />
      )}
    </>
  );
}

/** A beginning: what fits the nodes there are, at no price. */
function AddSuggested() {
  const { flavors: texts } = useTexts();
  const { say, complain } = useMessages();
  const { data } = useQuery(suggestionsQuery);
  const make = useMakeFlavors();
  if (!data?.length) return null;
  return (
    <Button
      isBusy={make.isPending}
      onClick={() => {
        make.mutate(data, {
          onSuccess: () => {
            say(texts.suggestedAdded);
          },
          onError: complain,
        });
      }}
    >
      {texts.addSuggested(data.length)}
    </Button>
  );
}

function FlavorMenu(props: { flavor: Flavor; onEdit: () => void }) {
  const change = useChangeFlavor();
  const remove = useDeleteFlavor();
  return <OfferMenu of={props.flavor} change={change} remove={remove} onEdit={props.onEdit} />;
}

function flavorColumns(
  { flavors: texts }: Texts,
  edit: (flavor: Flavor) => void,
): Column<Flavor>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      sort: (flavor) => flavor.name,
      cell: (flavor) => (
        <>
          {!flavor.is_enabled && <span className="badge">{texts.disabled}</span>}{" "}
          <strong title={flavor.name}>{flavor.name}</strong>
        </>
      ),
    },
    {
      id: "shape",
      title: texts.shape,
      isWideOnly: true,
      sort: (flavor) => shapeOf(flavor),
      cell: (flavor) => shapeOf(flavor),
    },
    {
      id: "price",
      title: texts.price,
      isEnd: true,
      sort: (flavor) => Number(flavor.price_per_hour),
      cell: (flavor) => <PerHour price={flavor.price_per_hour} currency={flavor.currency} />,
    },
    {
      id: "free",
      title: texts.free,
      isEnd: true,
      isWideOnly: true,
      sort: (flavor) => flavor.num_free,
      cell: (flavor) =>
        flavor.num_total ? (
          texts.freeOf(flavor.num_free, flavor.num_total)
        ) : (
          <span className="faint">{texts.noSuchNode}</span>
        ),
    },
    {
      id: "description",
      title: texts.description,
      isClipped: true,
      isWideOnly: true,
      cell: (flavor) => (
        <span className="muted" title={flavor.description}>
          {flavor.description || "–"}
        </span>
      ),
    },
    {
      id: "actions",
      title: "",
      isEnd: true,
      cell: (flavor) => (
        <FlavorMenu
          flavor={flavor}
          onEdit={() => {
            edit(flavor);
          }}
        />
      ),
    },
  ];
}
