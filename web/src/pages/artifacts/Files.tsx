import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { manifestQuery, readFile, type ManifestFile, type Version } from "@/api/artifacts";
import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { DataTable, type Column } from "@/parts/DataTable";
import { Dialog } from "@/parts/Dialog";
import { Loading, Problem } from "@/parts/Empty";
import { SearchField } from "@/parts/Field";
import { FilePreview } from "@/parts/FilePreview";
import { useMessages } from "@/parts/Messages";
import { showBytes } from "@/parts/numbers";
import { downloadArtifact } from "@/parts/snippets";
import { saveAs } from "@/parts/saving";
import { useTexts } from "@/texts/language";

const MOST_BYTES = 512 * 1024 * 1024;

/** The files of a version, with previews; references to what lies elsewhere below them. */
export function Files(props: { version: Version }) {
  const { version } = props;
  const { artifacts: texts } = useTexts();
  const { data, error, refetch } = useQuery(manifestQuery(version.id));
  const [words, setWords] = useState("");
  const [shown, setShown] = useState<ManifestFile>();
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading lines={6} />;
  const wanted = words.trim().toLowerCase();
  const files = data.files.filter((file) => file.path.toLowerCase().includes(wanted));
  const columns: Column<ManifestFile>[] = [
    {
      id: "path",
      title: texts.path,
      isClipped: true,
      cell: (file) => (
        <button
          type="button"
          className="row-name link"
          title={file.path}
          onClick={() => {
            setShown(file);
          }}
        >
          {file.path}
        </button>
      ),
    },
    { id: "size", title: texts.size, isEnd: true, cell: (file) => showBytes(file.size) },
    {
      id: "sha256",
      title: "SHA-256",
      isWideOnly: true,
      cell: (file) => <code title={file.sha256}>{file.sha256.slice(0, 12)}</code>,
    },
  ];
  return (
    <>
      {data.files.length > 12 && (
        <div className="toolbar">
          <SearchField
            label={texts.find}
            value={words}
            onChange={(event) => {
              setWords(event.target.value);
            }}
          />
        </div>
      )}
      {files.length ? (
        <DataTable
          label={texts.files}
          rows={files}
          columns={columns}
          rowId={(file) => file.path}
          maxHeight="60vh"
        />
      ) : (
        <p className="muted">{texts.noFiles}</p>
      )}
      {data.references.length > 0 && (
        <section className="panel">
          <div className="panel-head">
            <h2>{texts.references}</h2>
          </div>
          <DataTable
            label={texts.references}
            rows={data.references}
            rowId={(one) => one.path}
            columns={[
              { id: "path", title: texts.path, cell: (one) => one.path },
              {
                id: "uri",
                title: texts.uri,
                isClipped: true,
                cell: (one) => <code>{one.uri}</code>,
              },
              {
                id: "size",
                title: texts.size,
                isEnd: true,
                cell: (one) => (one.size == null ? "–" : showBytes(one.size)),
              },
            ]}
          />
        </section>
      )}
      <section>
        <h3>{texts.fetch}</h3>
        <Code text={downloadArtifact(version)} label={texts.fetch} />
      </section>
      {shown && (
        <FileDialog
          version={version}
          file={shown}
          onClose={() => {
            setShown(undefined);
          }}
        />
      )}
    </>
  );
}

function FileDialog(props: { version: Version; file: ManifestFile; onClose: () => void }) {
  const { version, file } = props;
  const { artifacts: texts, common } = useTexts();
  const { complain } = useMessages();
  const [isBusy, setIsBusy] = useState(false);
  const save = async () => {
    setIsBusy(true);
    try {
      saveAs(new Blob([await readFile(version.id, file)]), file.path);
    } catch (error) {
      complain(error);
    }
    setIsBusy(false);
  };
  return (
    <Dialog title={file.path} isWide onClose={props.onClose}>
      <FilePreview
        name={file.path}
        size={file.size}
        id={[version.id, file.path]}
        read={(most) => readFile(version.id, file, most)}
      />
      {file.size > MOST_BYTES && (
        <>
          <p className="muted">{texts.tooLarge}</p>
          <Code text={downloadArtifact(version)} />
        </>
      )}
      <div className="actions">
        <Button onClick={props.onClose}>{common.close}</Button>
        <Button
          kind="primary"
          icon="download"
          isBusy={isBusy}
          disabled={file.size > MOST_BYTES}
          onClick={() => void save()}
        >
          {texts.download}
        </Button>
      </div>
    </Dialog>
  );
}
