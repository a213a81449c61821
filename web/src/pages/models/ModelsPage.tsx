import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { modelsQuery, type Model } from "@/api/models";
import { useProject } from "@/frame/ProjectPicker";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { DataTable, type Column } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { SearchField } from "@/parts/Field";
import { Found, More } from "@/parts/Found";
import { RegisterModel } from "@/parts/RegisterModel";
import { REGISTER_MODEL } from "@/parts/snippets";
import { Ago } from "@/parts/time";
import { useTexts, type Texts } from "@/texts/language";

export function ModelsPage() {
  const all = useTexts();
  const { models: texts } = all;
  const project = useProject();
  const search = useSearch({ from: "/inside/models" });
  const navigate = useNavigate({ from: "/models" });
  const name = useDeferredValue(search.q);
  const found = useInfiniteQuery(modelsQuery({ name, project }));
  const [isRegistering, setIsRegistering] = useState(false);
  const rows = (found.data?.pages ?? []).flatMap((page) => page.items);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <div className="actions">
          <Button
            kind="primary"
            icon="plus"
            onClick={() => {
              setIsRegistering(true);
            }}
          >
            {texts.register}
          </Button>
        </div>
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
              rowId={(row) => row.id}
            />
          ) : (
            <div className="panel">
              {search.q === undefined ? (
                <Empty icon="models" title={texts.emptyTitle}>
                  <p>{texts.emptyText}</p>
                  <Code text={REGISTER_MODEL} />
                </Empty>
              ) : (
                <Empty icon="filter" title={texts.noMatch} />
              )}
            </div>
          )
        }
      </Found>
      <More of={found} />
      {isRegistering && (
        <RegisterModel
          onClose={() => {
            setIsRegistering(false);
          }}
        />
      )}
    </div>
  );
}

function columnsOf({ models: texts }: Texts): Column<Model>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      cell: (row) => (
        <Link
          className="row-name"
          to="/models/$name"
          params={{ name: row.name }}
          search={{ project: row.project }}
          title={row.name}
        >
          {row.name}
        </Link>
      ),
    },
    {
      id: "latest",
      title: texts.latest,
      cell: (row) => (row.latest ? `v${String(row.latest.version)}` : "–"),
    },
    {
      id: "aliases",
      title: texts.aliases,
      isClipped: true,
      cell: (row) =>
        Object.entries(row.aliases ?? {}).map(([alias, version]) => (
          <span key={alias} className="tag">
            {alias} → v{version}
          </span>
        )),
    },
    { id: "versions", title: texts.versions, isEnd: true, cell: (row) => row.num_versions },
    { id: "project", title: texts.project, isWideOnly: true, cell: (row) => row.project },
    {
      id: "description",
      title: texts.description,
      isClipped: true,
      isWideOnly: true,
      cell: (row) => <span title={row.description}>{row.description || "–"}</span>,
    },
    {
      id: "created",
      title: texts.created,
      isWideOnly: true,
      cell: (row) => <Ago at={row.latest?.created_at ?? row.created_at} />,
    },
  ];
}
