import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  frameworksQuery,
  useChangeFramework,
  useDeleteFramework,
  type Framework,
} from "@/api/flavors";
import { Button } from "@/parts/Button";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { Found } from "@/parts/Found";
import { useTexts, type Texts } from "@/texts/language";
import { FrameworkDialog } from "./FrameworkDialog";
import { OfferMenu } from "./OfferMenu";
import styles from "./admin.module.css";

/** Environments that jobs can ask for by name. */
export function FrameworksTab() {
  const all = useTexts();
  const { flavors: texts } = all;
  const found = useQuery(frameworksQuery);
  const [edited, setEdited] = useState<Framework | "new">();
  const [sort, setSort] = useState<Sort>({ by: "name", isDown: false });
  const add = (
    <Button
      icon="plus"
      kind="primary"
      onClick={() => {
        setEdited("new");
      }}
    >
      {texts.addFramework}
    </Button>
  );
  const columns = frameworkColumns(all, setEdited);
  return (
    <>
      <Found of={found}>
        {(frameworks) =>
          frameworks.length ? (
            <>
              <div className={styles.about}>
                <p className="muted">{texts.frameworksText}</p>
                {add}
              </div>
              <DataTable
                label={texts.frameworks}
                rows={sorted(frameworks, columns, sort)}
                columns={columns}
                rowId={(framework) => framework.name}
                sort={sort}
                onSort={setSort}
              />
            </>
          ) : (
            <Empty icon="models" title={texts.noFrameworks} actions={add}>
              <p>{texts.noFrameworksText}</p>
            </Empty>
          )
        }
      </Found>
      {edited !== undefined && (
        <FrameworkDialog
          framework={edited === "new" ? undefined : edited}
          onClose={() => {
            setEdited(undefined);
          }}
        />
      )}
    </>
  );
}

function FrameworkMenu(props: { framework: Framework; onEdit: () => void }) {
  const change = useChangeFramework();
  const remove = useDeleteFramework();
  return <OfferMenu of={props.framework} change={change} remove={remove} onEdit={props.onEdit} />;
}

function frameworkColumns(
  { flavors: texts }: Texts,
  edit: (framework: Framework) => void,
): Column<Framework>[] {
  return [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      sort: (framework) => framework.name,
      cell: (framework) => (
        <>
          {!framework.is_enabled && <span className="badge">{texts.disabled}</span>}{" "}
          <strong title={framework.name}>{framework.name}</strong>
        </>
      ),
    },
    {
      id: "title",
      title: texts.title,
      isClipped: true,
      isWideOnly: true,
      sort: (framework) => framework.title,
      cell: (framework) => <span title={framework.title}>{framework.title || "–"}</span>,
    },
    {
      id: "image",
      title: texts.image,
      isClipped: true,
      isWideOnly: true,
      sort: (framework) => framework.image,
      cell: (framework) =>
        framework.image ? (
          <code title={framework.image}>{framework.image}</code>
        ) : (
          <span className="muted" title={texts.own}>
            {texts.own}
          </span>
        ),
    },
    {
      id: "launch",
      title: texts.launch,
      isWideOnly: true,
      cell: (framework) => framework.launch.join(", ") || texts.allModes,
    },
    {
      id: "description",
      title: texts.description,
      isClipped: true,
      isWideOnly: true,
      cell: (framework) => (
        <span className="muted" title={framework.description}>
          {framework.description || "–"}
        </span>
      ),
    },
    {
      id: "actions",
      title: "",
      isEnd: true,
      cell: (framework) => (
        <FrameworkMenu
          framework={framework}
          onEdit={() => {
            edit(framework);
          }}
        />
      ),
    },
  ];
}
