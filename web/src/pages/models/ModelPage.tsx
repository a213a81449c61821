import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { modelQuery, modelVersionsQuery, type Model, type ModelVersion } from "@/api/models";
import { Button } from "@/parts/Button";
import { DataTable, type Column } from "@/parts/DataTable";
import { Description } from "@/parts/Description";
import { Loading, Problem } from "@/parts/Empty";
import { Facts } from "@/parts/Facts";
import { Found } from "@/parts/Found";
import { Flow } from "@/parts/flow/Flow";
import { showBytes, showNumber } from "@/parts/numbers";
import { RegisterModel } from "@/parts/RegisterModel";
import { Tabs } from "@/parts/Tabs";
import { Ago } from "@/parts/time";
import { Trail } from "@/parts/Trail";
import { useTexts } from "@/texts/language";
import { CompareVersions } from "./CompareVersions";
import { VersionActions } from "./VersionActions";
import { VersionDetails } from "./VersionDetails";

export function ModelPage() {
  const { name } = useParams({ from: "/inside/models/$name" });
  const { project } = useSearch({ from: "/inside/models/$name" });
  const { models: texts } = useTexts();
  const key = { model: name, project };
  const { data: model, error, refetch } = useQuery(modelQuery(key));
  const listed = useQuery(modelVersionsQuery(key));
  const [isRegistering, setIsRegistering] = useState(false);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!model) return <Loading lines={6} />;
  return (
    <div className="page">
      <Trail above={[[texts.title, { to: "/models" }]]} here={model.name} />
      <div className="page-head">
        <h1 className="wrap">{model.name}</h1>
        {Object.entries(model.aliases ?? {}).map(([alias, version]) => (
          <span key={alias} className="badge plain run">
            {alias} → v{version}
          </span>
        ))}
        <div className="actions">
          <Button
            icon="plus"
            onClick={() => {
              setIsRegistering(true);
            }}
          >
            {texts.register}
          </Button>
        </div>
      </div>
      <Facts
        items={[
          [texts.project, model.project],
          [texts.versions, model.num_versions],
          ...Object.entries(model.tags ?? {}),
        ]}
      />
      <Description text={model.description} />
      <Found of={listed} lines={6}>
        {(versions) =>
          versions.length ? (
            <Parts model={model} versions={versions} />
          ) : (
            <p className="muted">{texts.none}</p>
          )
        }
      </Found>
      {isRegistering && (
        <RegisterModel
          name={model.name}
          project={model.project}
          onClose={() => {
            setIsRegistering(false);
          }}
        />
      )}
    </div>
  );
}

function Parts(props: { model: Model; versions: readonly ModelVersion[] }) {
  const { model, versions } = props;
  const { models: texts } = useTexts();
  const search = useSearch({ from: "/inside/models/$name" });
  const navigate = useNavigate({ from: "/models/$name" });
  const shown = versions.find((one) => String(one.version) === search.version) ?? versions[0];
  const tab = search.tab ?? (search.version === undefined ? "versions" : "details");
  const compared = (search.with ?? "").split(",").filter(Boolean);
  if (!shown) return null;
  return (
    <>
      <div className="toolbar">
        <Tabs
          label={model.name}
          tabs={[
            ["versions", texts.tabs.versions],
            ["details", `${texts.tabs.details} (v${String(shown.version)})`],
            ["flow", `${texts.tabs.flow} (v${String(shown.version)})`],
            ...(compared.length > 1 ? [["compare", texts.tabs.compare] as const] : []),
          ]}
          shown={tab}
          isFirstNamed
        />
      </div>
      {tab === "versions" && (
        <VersionTable
          model={model}
          versions={versions}
          chosen={compared}
          onChosen={(next) => {
            void navigate({
              search: (before) => ({ ...before, with: next.join() || undefined }),
              replace: true,
            });
          }}
          onCompare={() => {
            void navigate({ search: (before) => ({ ...before, tab: "compare" }) });
          }}
        />
      )}
      {tab === "details" && <VersionDetails version={shown} />}
      {tab === "flow" && <Flow node={`model:${shown.id}`} />}
      {tab === "compare" && (
        <CompareVersions model={model.name} project={model.project} versions={compared} />
      )}
    </>
  );
}

function VersionTable(props: {
  model: Model;
  versions: readonly ModelVersion[];
  chosen: readonly string[];
  onChosen: (versions: string[]) => void;
  onCompare: () => void;
}) {
  const { models: texts } = useTexts();
  const metrics = [...new Set(props.versions.flatMap((one) => Object.keys(one.metrics ?? {})))]
    .sort((a, b) => Number(b.startsWith("val")) - Number(a.startsWith("val")) || (a < b ? -1 : 1))
    .slice(0, 4);
  const columns: Column<ModelVersion>[] = [
    {
      id: "version",
      title: texts.version,
      cell: (row) => (
        <Link
          className="row-name"
          to="/models/$name"
          params={{ name: row.model }}
          search={{ project: row.project, version: String(row.version), tab: "details" }}
        >
          v{row.version}
        </Link>
      ),
    },
    {
      id: "aliases",
      title: texts.aliases,
      cell: (row) =>
        (row.aliases ?? []).map((alias) => (
          <span key={alias} className="tag">
            {alias}
          </span>
        )),
    },
    ...metrics.map((name): Column<ModelVersion> => ({
      id: name,
      title: name,
      isEnd: true,
      isWideOnly: true,
      cell: (row) => showNumber(row.metrics?.[name]),
    })),
    {
      id: "source",
      title: texts.source,
      isClipped: true,
      isWideOnly: true,
      cell: (row) => <code title={row.source}>{row.source_name || row.source}</code>,
    },
    {
      id: "size",
      title: texts.size,
      isEnd: true,
      isWideOnly: true,
      cell: (row) => showBytes(row.size),
    },
    { id: "owner", title: texts.owner, isWideOnly: true, cell: (row) => row.owner },
    { id: "created", title: texts.created, cell: (row) => <Ago at={row.created_at} /> },
    { id: "actions", title: "", isEnd: true, cell: (row) => <VersionActions version={row} /> },
  ];
  return (
    <>
      <div className="toolbar">
        <Button icon="chart" disabled={props.chosen.length < 2} onClick={props.onCompare}>
          {texts.compare}
        </Button>
        {props.chosen.length < 2 && <span className="muted small">{texts.compareHint}</span>}
      </div>
      <DataTable
        label={texts.versions}
        rows={props.versions}
        columns={columns}
        rowId={(row) => String(row.version)}
        selection={{
          ids: new Set(props.chosen),
          onChange: (ids) => {
            props.onChosen([...ids]);
          },
          nameOf: (version) => `v${version}`,
        }}
      />
    </>
  );
}
