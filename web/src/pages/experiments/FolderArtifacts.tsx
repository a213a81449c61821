import { useInfiniteQuery } from "@tanstack/react-query";
import { artifactsQuery } from "@/api/artifacts";
import { DataTable } from "@/parts/DataTable";
import { More } from "@/parts/Found";
import { useTexts } from "@/texts/language";
import { columnsOf } from "../artifacts/columns";

/** What lies in a folder besides runs: artifacts whose names begin with it. Nothing where there are none. */
export function FolderArtifacts(props: { folder: string; project: string | undefined }) {
  const texts = useTexts();
  const found = useInfiniteQuery(
    artifactsQuery({ prefix: `${props.folder}/`, project: props.project }),
  );
  const rows = (found.data?.pages ?? []).flatMap((page) => page.items);
  if (!rows.length) return null;
  return (
    <>
      <h2>{texts.artifacts.title}</h2>
      <DataTable
        label={texts.artifacts.title}
        rows={rows}
        columns={columnsOf(texts)}
        rowId={(row) => `${row.project}/${row.name}`}
      />
      <More of={found} />
    </>
  );
}
