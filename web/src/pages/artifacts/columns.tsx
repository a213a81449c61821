import { Link } from "@tanstack/react-router";
import type { Artifact } from "@/api/artifacts";
import type { Column } from "@/parts/DataTable";
import { showBytes } from "@/parts/numbers";
import { Ago } from "@/parts/time";
import type { Texts } from "@/texts/language";

export function columnsOf({ artifacts: texts }: Texts): Column<Artifact>[] {
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
