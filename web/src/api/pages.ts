// Lists that come in pages: all of a short one, or the rest of a long one behind its first page.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { spoken } from "@/texts/told";

export type Page<Row> = { items: Row[]; next?: string | null };
export type Paged<Row> = { items: Row[]; next: string | null };

const MOST_PAGES = 100;

/** All rows of a list. Throws when one page fails: a part of a list is never taken for all of it. */
export async function allPages<Row>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Row>>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, next } = await fetchPage(cursor);
    rows.push(...items);
    if (next == null) return rows;
    cursor = next;
  }
  throw new Error(spoken().tooManyPages(MOST_PAGES));
}

/** What is known of a list whose pages follow one another. */
export type Rest = {
  /** The list ends here although there is more: as many are shown as a browser should hold. */
  isFull: boolean;
  isComplete: boolean;
  /** Why the next page did not come. */
  error: Error | null;
  retry: () => void;
};

/** Fetch the pages behind the first one into the cached list, one after the other. */
export function useRest<Row extends { id: string }>(options: {
  queryKey: readonly unknown[];
  list: Paged<Row> | undefined;
  most: number;
  fetchPage: (cursor: string) => Promise<Page<Row>>;
}): Rest {
  const { queryKey, list, most, fetchPage } = options;
  const client = useQueryClient();
  const next = list?.next ?? null;
  const isFull = next !== null && (list?.items.length ?? 0) >= most;
  const page = useQuery({
    queryKey: ["rest", ...queryKey, next],
    queryFn: async () => {
      const found = await fetchPage(next ?? "");
      client.setQueryData<Paged<Row>>(queryKey, (before) =>
        before?.next === next
          ? { items: joined(before.items, found.items), next: found.next ?? null }
          : before,
      );
      return next;
    },
    enabled: next !== null && !isFull,
    staleTime: Infinity,
    gcTime: 0,
  });
  return {
    isFull,
    isComplete: list !== undefined && next === null,
    error: next !== null && !isFull ? page.error : null,
    retry: () => void page.refetch(),
  };
}

/** A list and its next page, in which some may be known by now. */
function joined<Row extends { id: string }>(before: Row[], after: readonly Row[]): Row[] {
  const known = new Set(before.map((row) => row.id));
  return [...before, ...after.filter((row) => !known.has(row.id))];
}
