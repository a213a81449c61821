import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { foldersQuery } from "@/api/runs";
import { useProject } from "@/frame/ProjectPicker";
import { ProblemLine } from "@/parts/Empty";
import { Icon } from "@/parts/Icon";
import { useTexts } from "@/texts/language";
import { folderTree, shownNodes } from "./folders";
import styles from "./experiments.module.css";

/** Where runs lie. Each folder is a link: what is chosen is in the address. */
export function FolderTree(props: { folder: string | undefined; isBin: boolean }) {
  const { runs: texts, common } = useTexts();
  const project = useProject();
  const { data, error, refetch } = useQuery(foldersQuery);
  const root = useMemo(() => folderTree(data ?? [], project), [data, project]);
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = (path: string) =>
    toggled.get(path) ?? (!path.includes("/") || (props.folder ?? "").startsWith(`${path}/`));
  return (
    <nav className={styles.tree} aria-label={texts.folders}>
      <Entry
        icon="experiments"
        name={texts.allFolders}
        folder={undefined}
        isChosen={props.folder === undefined && !props.isBin}
        count={root.numRuns}
      />
      {error && <ProblemLine error={error} onRetry={() => void refetch()} />}
      {shownNodes(root, isOpen).map(({ node, depth }) => (
        <div
          key={node.path}
          className={styles.branch}
          style={{ paddingLeft: `${String(depth)}rem` }}
        >
          {node.children.length > 0 ? (
            <button
              type="button"
              className={styles.twist}
              aria-expanded={isOpen(node.path)}
              aria-label={`${common.open} ${node.path}`}
              onClick={() => {
                setToggled(new Map(toggled).set(node.path, !isOpen(node.path)));
              }}
            >
              <Icon name={isOpen(node.path) ? "down" : "right"} />
            </button>
          ) : (
            <span className={styles.twist} />
          )}
          <Entry
            icon="folder"
            name={node.name}
            folder={node.path}
            isChosen={props.folder === node.path && !props.isBin}
            count={node.numRuns}
          />
        </div>
      ))}
      <Link
        from="/experiments"
        to="/experiments"
        search={(before) => ({ ...before, folder: undefined, bin: true })}
        className={styles.folder}
        aria-current={props.isBin ? "true" : undefined}
      >
        <Icon name="trash" />
        <span>{texts.bin}</span>
      </Link>
    </nav>
  );
}

function Entry(props: {
  icon: "folder" | "experiments";
  name: string;
  folder: string | undefined;
  isChosen: boolean;
  count: number;
}) {
  return (
    <Link
      from="/experiments"
      to="/experiments"
      search={(before) => ({ ...before, folder: props.folder, bin: undefined })}
      className={styles.folder}
      aria-current={props.isChosen ? "true" : undefined}
      title={props.name}
    >
      <Icon name={props.icon} />
      <span>{props.name}</span>
      <span className={`number faint small ${styles.num ?? ""}`}>{props.count}</span>
    </Link>
  );
}
