import { useQuery } from "@tanstack/react-query";
import {
  flavorsQuery,
  suggestionsQuery,
  useChangeFlavor,
  useDeleteFlavor,
  useMakeFlavors,
  type Flavor,
} from "@/api/flavors";
import { Button } from "@/parts/Button";
import type { Column } from "@/parts/DataTable";
import { ProblemLine } from "@/parts/Empty";
import { shapeOf } from "@/parts/flavor";
import { useMessages } from "@/parts/Messages";
import { PerHour } from "@/parts/money";
import { useTexts, type Texts } from "@/texts/language";
import { FlavorDialog } from "./FlavorDialog";
import { Offers } from "./Offers";

/** Machine shapes with prices that jobs can ask for by name. */
export function FlavorsTab() {
  const { flavors: texts } = useTexts();
  return (
    <Offers
      found={useQuery(flavorsQuery)}
      changes={{ change: useChangeFlavor(), remove: useDeleteFlavor() }}
      columns={flavorColumns(texts)}
      texts={{
        label: texts.flavors,
        about: texts.flavorsText,
        add: texts.addFlavor,
        none: texts.noFlavors,
        noneText: texts.noFlavorsText,
      }}
      icon="cluster"
      beginning={<AddSuggested />}
      dialog={(edited, close) => <FlavorDialog flavor={edited} onClose={close} />}
    />
  );
}

/** A beginning: what fits the nodes there are, at no price. */
function AddSuggested() {
  const { flavors: texts } = useTexts();
  const { say, complain } = useMessages();
  const { data, error, refetch } = useQuery(suggestionsQuery);
  const make = useMakeFlavors();
  if (error) return <ProblemLine error={error} onRetry={() => void refetch()} />;
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

function flavorColumns(texts: Texts["flavors"]): Column<Flavor>[] {
  return [
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
  ];
}
