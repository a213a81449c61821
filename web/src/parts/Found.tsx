import type { ReactNode } from "react";
import type { Rest } from "@/api/pages";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { Loading, Notice, Problem, ProblemLine } from "./Empty";

export type Asked<Data> = {
  data: Data | undefined;
  error: Error | null;
  refetch: () => unknown;
  /** The error came with a further page: `More` shows it. */
  isFetchNextPageError?: boolean;
};

/** What a query found; until then bars, or what went wrong and a way to ask again. What was found before a failure stays. */
export function Found<Data>(props: {
  of: Asked<Data>;
  /** How many bars: about as high as what is to come. */
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch, isFetchNextPageError } = props.of;
  const retry = () => void refetch();
  if (data === undefined)
    return error ? <Problem error={error} onRetry={retry} /> : <Loading lines={props.lines} />;
  return (
    <>
      {error && !isFetchNextPageError && <ProblemLine error={error} onRetry={retry} />}
      {props.children(data)}
    </>
  );
}

type Paged = {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: Error | null;
  fetchNextPage: () => unknown;
};

/** The way to the rest of a list that comes in pages. */
export function More(props: { of: Paged; isSmall?: boolean }) {
  const { common } = useTexts();
  const { of } = props;
  const next = () => void of.fetchNextPage();
  if (!of.hasNextPage) return null;
  if (of.isFetchNextPageError)
    return <ProblemLine about={common.incomplete} error={of.error} onRetry={next} />;
  return (
    <div>
      <Button isSmall={props.isSmall} isBusy={of.isFetchingNextPage} onClick={next}>
        {common.showMore}
      </Button>
    </div>
  );
}

/** That a list is not all there is: because a page did not come, or because there are too many. */
export function Incomplete(props: { rest: Rest; count: number }) {
  const { common } = useTexts();
  const { rest, count } = props;
  if (rest.error)
    return <ProblemLine about={common.newestOnly(count)} error={rest.error} onRetry={rest.retry} />;
  return rest.isFull ? <Notice kind="wait">{common.newestOnly(count)}</Notice> : null;
}
