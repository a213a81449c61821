import type { ReactNode } from "react";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { Loading, Problem } from "./Empty";

export type Asked<Data> = {
  data: Data | undefined;
  error: Error | null;
  refetch: () => unknown;
};

/** What a query found; until then bars, or what went wrong and a way to ask again. */
export function Found<Data>(props: {
  of: Asked<Data>;
  /** How many bars: about as high as what is to come. */
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = props.of;
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={props.lines} />;
  return props.children(data);
}

type Paged = {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
};

/** The way to the rest of a list that comes in pages. */
export function More(props: { of: Paged; isSmall?: boolean }) {
  const { common } = useTexts();
  if (!props.of.hasNextPage) return null;
  return (
    <div>
      <Button
        isSmall={props.isSmall}
        isBusy={props.of.isFetchingNextPage}
        onClick={() => void props.of.fetchNextPage()}
      >
        {common.showMore}
      </Button>
    </div>
  );
}
