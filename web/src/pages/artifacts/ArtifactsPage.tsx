import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { artifactsQuery } from "@/api/artifacts";
import { useProject } from "@/frame/ProjectPicker";
import { Code } from "@/parts/Code";
import { DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { SearchField } from "@/parts/Field";
import { Found, More } from "@/parts/Found";
import { KEEP_ARTIFACT } from "@/parts/snippets";
import { useTexts } from "@/texts/language";
import { columnsOf } from "./columns";

export function ArtifactsPage() {
  const all = useTexts();
  const { artifacts: texts } = all;
  const project = useProject();
  const search = useSearch({ from: "/inside/artifacts" });
  const navigate = useNavigate({ from: "/artifacts" });
  const prefix = useDeferredValue(search.q);
  const found = useInfiniteQuery(artifactsQuery({ prefix, project }));
  const rows = (found.data?.pages ?? []).flatMap((page) => page.items);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
      </div>
      <div className="toolbar">
        <SearchField
          label={texts.search}
          value={search.q ?? ""}
          onChange={(event) => {
            void navigate({
              search: (before) => ({ ...before, q: event.target.value || undefined }),
              replace: true,
            });
          }}
        />
      </div>
      <Found of={found} lines={8}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.title}
              rows={rows}
              columns={columnsOf(all)}
              rowId={(row) => `${row.project}/${row.name}`}
            />
          ) : (
            <div className="panel">
              {search.q === undefined ? (
                <Empty icon="file" title={texts.emptyTitle}>
                  <p>{texts.emptyText}</p>
                  <Code text={KEEP_ARTIFACT} />
                </Empty>
              ) : (
                <Empty icon="filter" title={texts.noMatch} />
              )}
            </div>
          )
        }
      </Found>
      <More of={found} />
    </div>
  );
}
