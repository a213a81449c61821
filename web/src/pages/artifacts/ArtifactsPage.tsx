import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { artifactsQuery, type Artifact } from "@/api/artifacts";
import { useProject } from "@/frame/ProjectPicker";
import { Code } from "@/parts/Code";
import { DataTable, type Column } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { SearchField } from "@/parts/Field";
import { Found, More } from "@/parts/Found";
import { showBytes } from "@/parts/numbers";
import { KEEP_ARTIFACT } from "@/parts/snippets";
import { Ago } from "@/parts/time";
import { useTexts, type Texts } from "@/texts/language";

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

function columnsOf({ artifacts: texts }: Texts): Column<Artifact>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      cell: (row) =>
        row.latest ? (
          <Link
            className="row-name"
            to="/artifacts/$id"
            params={{ id: row.latest.id }}
            title={row.name}
          >
            {row.name}
          </Link>
        ) : (
          <span className="faint">{row.name}</span>
        ),
    },
    {
      id: "version",
      title: texts.latest,
      cell: (row) => (
        <>
          {row.latest ? `v${String(row.latest.version)}` : "–"}{" "}
          {row.latest?.aliases?.map((alias) => (
            <span key={alias} className="tag">
              {alias}
            </span>
          ))}
        </>
      ),
    },
    {
      id: "files",
      title: texts.files,
      isEnd: true,
      isWideOnly: true,
      cell: (row) => row.latest?.num_files ?? "–",
    },
    {
      id: "size",
      title: texts.size,
      isEnd: true,
      cell: (row) => (row.latest ? showBytes(row.latest.size) : "–"),
    },
    {
      id: "labels",
      title: texts.labels,
      isClipped: true,
      isWideOnly: true,
      cell: (row) =>
        (row.labels ?? []).map((label) => (
          <span key={label} className="tag">
            {label}
          </span>
        )),
    },
    { id: "project", title: texts.project, isWideOnly: true, cell: (row) => row.project },
    {
      id: "made",
      title: texts.made,
      isWideOnly: true,
      cell: (row) => <Ago at={row.latest?.created_at ?? row.created_at} />,
    },
  ];
}
