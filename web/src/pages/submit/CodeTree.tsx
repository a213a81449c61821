import { useQuery } from "@tanstack/react-query";
import { treeQuery } from "@/api/trees";
import { Button } from "@/parts/Button";
import { Icon } from "@/parts/Icon";
import { showBytes } from "@/parts/numbers";
import { TreeFiles } from "@/parts/TreeFiles";
import { useTexts } from "@/texts/language";
import type { Brought } from "./useCode";
import styles from "./submit.module.css";

/** Code that is on the server: how much it is, what is in it, and a way to be rid of it. */
export function CodeTree(props: {
  digest: string;
  brought: Brought | undefined;
  wrong: string | undefined;
  onRemove: () => void;
}) {
  const { submit: texts, common } = useTexts();
  const { data, error } = useQuery({ ...treeQuery(props.digest), retry: false });
  const size = (data?.files ?? []).reduce((sum, file) => sum + file.size, 0);
  const wrong = props.wrong ?? (error ? texts.treeGone : undefined);
  return (
    <div className="field">
      <span className="label">{texts.code}</span>
      <div className={styles.tree} aria-invalid={wrong !== undefined}>
        <Icon name="folder" />
        <span>
          {data ? texts.treeOf(data.files.length, showBytes(size)) : common.loading}
          {props.brought?.name ? ` ${texts.treeFrom(props.brought.name)}` : ""}
        </span>
        <code className="faint" title={props.digest}>
          {props.digest.slice(0, 8)}
        </code>
        <Button
          kind="plain"
          isSmall
          icon="close"
          label={texts.removeCode}
          onClick={props.onRemove}
        />
      </div>
      {props.brought !== undefined && props.brought.numLeftOut > 0 && (
        <p className="hint">{texts.leftOut(props.brought.numLeftOut)}</p>
      )}
      {wrong !== undefined && (
        <p className="wrong" role="alert">
          <Icon name="warning" />
          <span>{wrong}</span>
        </p>
      )}
      {data && <TreeFiles files={data.files} />}
    </div>
  );
}
