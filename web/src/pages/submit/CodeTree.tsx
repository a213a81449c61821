import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { readBlob, treeQuery, type TreeFile } from "@/api/trees";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { FilePreview } from "@/parts/FilePreview";
import { Icon } from "@/parts/Icon";
import { showBytes } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import type { Brought } from "./useCode";
import styles from "./submit.module.css";

const MOST_SHOWN = 200;

/** Code that is on the server: how much it is, what is in it, and a way to be rid of it. */
export function CodeTree(props: {
  digest: string;
  brought: Brought | undefined;
  wrong: string | undefined;
  onRemove: () => void;
}) {
  const { submit: texts, common } = useTexts();
  const [shown, setShown] = useState<TreeFile>();
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
      {data && (
        <details className={styles.list}>
          <summary className="small">{texts.showFiles}</summary>
          <ul>
            {data.files.slice(0, MOST_SHOWN).map((file) => (
              <li key={file.path}>
                <button
                  type="button"
                  className="link"
                  onClick={() => {
                    setShown(file);
                  }}
                >
                  {file.path}
                </button>
                <span className="faint number">{showBytes(file.size)}</span>
              </li>
            ))}
            {data.files.length > MOST_SHOWN && <li className="faint">…</li>}
          </ul>
        </details>
      )}
      {shown && (
        <Dialog
          title={shown.path}
          isWide
          onClose={() => {
            setShown(undefined);
          }}
        >
          <FilePreview
            name={shown.path}
            size={shown.size}
            id={["blob", shown.sha256]}
            read={(most) => readBlob(shown.sha256, most)}
          />
          <div className="actions">
            <Button
              onClick={() => {
                setShown(undefined);
              }}
            >
              {common.close}
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
