import { useState } from "react";
import { readBlob, type TreeFile } from "@/api/trees";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { FilePreview } from "./FilePreview";
import { showBytes } from "./numbers";

const MOST_SHOWN = 200;

/** The files of a code folder; each can be read. */
export function TreeFiles(props: { files: readonly TreeFile[] }) {
  const { submit: texts, common } = useTexts();
  const [shown, setShown] = useState<TreeFile>();
  const close = () => {
    setShown(undefined);
  };
  return (
    <>
      <details className="tree-files">
        <summary className="small">{texts.showFiles}</summary>
        <ul>
          {props.files.slice(0, MOST_SHOWN).map((file) => (
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
          {props.files.length > MOST_SHOWN && (
            <li className="faint">{common.andMore(props.files.length - MOST_SHOWN)}</li>
          )}
        </ul>
      </details>
      {shown && (
        <Dialog title={shown.path} isWide onClose={close}>
          <FilePreview
            name={shown.path}
            size={shown.size}
            id={["blob", shown.sha256]}
            read={(most) => readBlob(shown.sha256, most)}
          />
          <div className="actions">
            <Button onClick={close}>{common.close}</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
