import { useRef, useState } from "react";
import { asProblem } from "@/api/problem";
import { MOST_BYTES, MOST_FILES, TooMuchCode } from "@/code/folder";
import { UnreadableFile } from "@/code/hash";
import { ignoring } from "@/code/ignore";
import { Button } from "@/parts/Button";
import { TextField } from "@/parts/Field";
import { Icon } from "@/parts/Icon";
import { showBytes } from "@/parts/numbers";
import { droppedFrom, pickedFrom } from "@/parts/picked";
import { useTexts, type Texts } from "@/texts/language";
import { CodeTree } from "./CodeTree";
import type { CodeUpload } from "./useCode";
import styles from "./submit.module.css";

const isDefaultOut = ignoring();

/** Where the code comes from: the store, this machine, or a job whose code is there already. */
export function CodeField(props: {
  value: string;
  wrong: string | undefined;
  upload: CodeUpload;
  onChange: (code: string) => void;
}) {
  const { value, upload } = props;
  const { submit: texts, common } = useTexts();
  const [isOver, setIsOver] = useState(false);
  const isTree = /^[0-9a-f]{64}$/.test(value);
  const told =
    upload.problem === undefined ? undefined : problemText(upload.problem, texts, common);
  return (
    <div
      className={styles.drop}
      data-over={isOver}
      data-hint={texts.dropCode}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        // a look at what lies in the dropped folder: its own name does not count
        const isOut = (folder: string) =>
          folder.includes("/") && isDefaultOut(`${folder.slice(folder.indexOf("/") + 1)}/.`);
        droppedFrom(event.dataTransfer.items, isOut).then(upload.start, upload.fail);
      }}
    >
      {isTree ? (
        <CodeTree
          digest={value}
          brought={upload.brought?.digest === value ? upload.brought : undefined}
          wrong={props.wrong}
          onRemove={() => {
            props.onChange("");
          }}
        />
      ) : (
        <TextField
          label={texts.code}
          isOptional
          hint={texts.codeHint}
          placeholder="store://main/code"
          value={value}
          wrong={props.wrong}
          onChange={(event) => {
            props.onChange(event.target.value);
          }}
        />
      )}
      {upload.progress ? (
        <CodeProgress upload={upload} />
      ) : (
        !isTree && <FolderButtons onPick={upload.start} />
      )}
      {told !== undefined && (
        <p className={styles.told} role="alert">
          <Icon name="warning" />
          <span>{told}</span>
        </p>
      )}
    </div>
  );
}

function FolderButtons(props: { onPick: CodeUpload["start"] }) {
  const { submit: texts } = useTexts();
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const input = (ref: typeof files, label: string, isFolder: boolean) => (
    <input
      ref={ref}
      type="file"
      multiple
      hidden
      aria-label={label}
      {...(isFolder ? { webkitdirectory: "" } : {})}
      onChange={(event) => {
        if (event.target.files?.length) props.onPick(pickedFrom(event.target.files));
        event.target.value = "";
      }}
    />
  );
  return (
    <div className={styles.pick}>
      {input(folder, texts.chooseFolder, true)}
      {input(files, texts.chooseFiles, false)}
      <Button isSmall icon="folder" onClick={() => folder.current?.click()}>
        {texts.chooseFolder}
      </Button>
      <Button isSmall icon="file" onClick={() => files.current?.click()}>
        {texts.chooseFiles}
      </Button>
      <span className="faint small">{texts.orDrop}</span>
    </div>
  );
}

function CodeProgress(props: { upload: CodeUpload }) {
  const { submit: texts } = useTexts();
  const { progress, stop } = props.upload;
  if (!progress) return null;
  const [done, total, told] =
    progress.step === "reading"
      ? [progress.done, progress.total, texts.reading(progress.done, progress.total)]
      : [
          progress.sent,
          progress.bytes,
          texts.sending(showBytes(progress.sent), showBytes(progress.bytes)),
        ];
  return (
    <div className={styles.pick} role="status">
      <span className="number small">{told}</span>
      <progress value={done} max={total || 1} aria-label={told} />
      <Button isSmall icon="stop" onClick={stop}>
        {texts.cancel}
      </Button>
    </div>
  );
}

function problemText(
  problem: unknown,
  texts: Texts["submit"],
  common: Texts["common"],
): string | undefined {
  if (problem instanceof UnreadableFile) return texts.codeUnreadable(problem.file);
  if (problem instanceof TooMuchCode) {
    if (problem.why === "empty") return texts.codeEmpty;
    if (problem.why === "files") return texts.codeTooMany(MOST_FILES.toLocaleString());
    const largest = problem.largest.map(({ path, file }) => `${path} (${showBytes(file.size)})`);
    return texts.codeTooLarge(showBytes(MOST_BYTES), largest.join(", "));
  }
  const told = asProblem(problem);
  return told.status === 0 ? common.unreachable : told.message;
}
