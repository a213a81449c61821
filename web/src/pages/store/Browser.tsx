import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { folderQuery, objectAddress, readStart, useDeleteObjects } from "@/api/store";
import { Button, buttonClass } from "@/parts/Button";
import { Code, CopyButton } from "@/parts/Code";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { Confirm, Dialog } from "@/parts/Dialog";
import { Empty } from "@/parts/Empty";
import { FilePreview } from "@/parts/FilePreview";
import { Found, More } from "@/parts/Found";
import { Icon } from "@/parts/Icon";
import { useMessages } from "@/parts/Messages";
import { showBytes } from "@/parts/numbers";
import { droppedFrom, type Picked } from "@/parts/picked";
import { copyToStore } from "@/parts/snippets";
import { Ago } from "@/parts/time";
import { fileName } from "@/parts/saving";
import { useTexts } from "@/texts/language";
import { BucketMenu } from "./BucketMenu";
import { Crumbs } from "./Crumbs";
import { FileButtons } from "./FileButtons";
import { ToData } from "./ToData";
import { useUploads } from "./uploads";
import styles from "./store.module.css";

type Row = { key: string; name: string; size?: number; modifiedAt?: string };

/** A folder of a bucket: what is in it, and new files into it. */
export function Browser(props: { bucket: string }) {
  const { bucket } = props;
  const { store: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const search = useSearch({ from: "/inside/store" });
  const navigate = useNavigate({ from: "/store" });
  const prefix = search.path ?? "";
  const found = useInfiniteQuery(folderQuery(bucket, prefix));
  const uploads = useUploads(bucket, prefix);
  const remove = useDeleteObjects();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAsked, setIsAsked] = useState(false);
  const [isCopied, setIsCopied] = useState(false);
  const [isOver, setIsOver] = useState(false);
  const [sort, setSort] = useState<Sort>({ by: "name", isDown: false });

  const pages = found.data?.pages ?? [];
  const rows: Row[] = [
    ...pages.flatMap((page) =>
      (page.folders ?? []).map((key) => ({ key, name: key.slice(prefix.length) })),
    ),
    ...pages.flatMap((page) =>
      page.objects
        .filter((object) => object.key !== prefix)
        .map((object) => ({
          key: object.key,
          name: object.key.slice(prefix.length),
          size: object.size,
          modifiedAt: object.modified_at,
        })),
    ),
  ];
  const shown = rows.find((row) => row.key === search.file);
  const upload = async (picked: Picked[]) => {
    if (!picked.length) return;
    const end = await uploads.start(picked);
    if (end.done) say(texts.uploaded(end.done));
    if (end.problems.length) {
      complain(end.problems[0]?.error);
      complain(new Error(texts.failed(end.problems.length)));
    }
  };
  const show = (file: string | undefined) => {
    void navigate({ search: (before) => ({ ...before, file }) });
  };
  const columns: Column<Row>[] = [
    {
      id: "name",
      title: texts.name,
      isClipped: true,
      sort: (row) => (row.size === undefined ? `0${row.name}` : `1${row.name}`),
      cell: (row) => (
        <Link
          className={`row-name ${styles.name ?? ""}`}
          to="/store"
          search={
            row.size === undefined
              ? { bucket, path: row.key }
              : { bucket, path: prefix || undefined, file: row.key }
          }
          title={row.name}
        >
          <Icon name={row.size === undefined ? "folder" : "file"} />
          {row.name}
        </Link>
      ),
    },
    {
      id: "size",
      title: texts.size,
      isEnd: true,
      sort: (row) => row.size,
      cell: (row) => (row.size === undefined ? "–" : showBytes(row.size)),
    },
    {
      id: "modified",
      title: texts.modified,
      isWideOnly: true,
      sort: (row) => row.modifiedAt,
      cell: (row) => <Ago at={row.modifiedAt} />,
    },
  ];
  const selected = rows.filter((row) => chosen.has(row.key));
  return (
    <div
      className={`page ${styles.drop ?? ""}`}
      data-over={isOver}
      data-hint={texts.drop}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as globalThis.Node | null))
          setIsOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        droppedFrom(event.dataTransfer.items).then(upload).catch(complain);
      }}
    >
      <div className="page-head">
        <Crumbs bucket={bucket} prefix={prefix} />
        <div className="actions">
          {rows.length > 0 && (
            <FileButtons onPick={(picked) => void upload(picked)} isBusy={Boolean(uploads.state)} />
          )}
          {prefix === "" && <BucketMenu bucket={bucket} />}
        </div>
      </div>
      {uploads.state && (
        <div className={styles.progress} role="status">
          <span className="number">
            {texts.uploading(uploads.state.done, uploads.state.total)} ·{" "}
            {showBytes(uploads.state.sent)} / {showBytes(uploads.state.bytes)}
          </span>
          <progress value={uploads.state.sent} max={uploads.state.bytes || 1} />
          <Button isSmall icon="stop" onClick={uploads.stop}>
            {texts.stopUpload}
          </Button>
        </div>
      )}
      {selected.length > 0 && (
        <div className="toolbar">
          <span className="muted number">{common.selected(selected.length)}</span>
          <Button
            icon="folder"
            onClick={() => {
              setIsCopied(true);
            }}
          >
            {texts.toData}
          </Button>
          <Button
            icon="trash"
            onClick={() => {
              setIsAsked(true);
            }}
          >
            {common.delete}
          </Button>
        </div>
      )}
      <Found of={found} lines={8}>
        {() =>
          rows.length ? (
            <DataTable
              label={`${bucket}/${prefix}`}
              rows={sorted(rows, columns, sort)}
              columns={columns}
              rowId={(row) => row.key}
              sort={sort}
              onSort={setSort}
              selection={{ ids: chosen, onChange: setChosen, nameOf: (key) => key }}
            />
          ) : (
            <div className="panel">
              <EmptyFolder
                bucket={bucket}
                prefix={prefix}
                isBusy={Boolean(uploads.state)}
                onPick={(picked) => void upload(picked)}
              />
            </div>
          )
        }
      </Found>
      <More of={found} />
      {isCopied && (
        <ToData
          bucket={bucket}
          keys={selected.map((row) => row.key)}
          onClose={() => {
            setIsCopied(false);
          }}
        />
      )}
      {isAsked && (
        <Confirm
          title={texts.deleteTitle(selected.length)}
          names={selected.map((row) => row.name)}
          text={texts.deleteText}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setIsAsked(false);
          }}
          onConfirm={() => {
            remove.mutate(
              { bucket, keys: selected.map((row) => row.key) },
              {
                onSuccess: (count) => {
                  say(texts.deleted(count));
                  setChosen(new Set());
                },
                onError: complain,
                onSettled: () => {
                  setIsAsked(false);
                },
              },
            );
          }}
        />
      )}
      {shown?.size !== undefined && (
        <Dialog
          title={shown.name}
          isWide
          onClose={() => {
            show(undefined);
          }}
        >
          <div className="toolbar">
            <code className="wrap">{`store://${bucket}/${shown.key}`}</code>
            <CopyButton text={`store://${bucket}/${shown.key}`} />
            <span className="muted">{showBytes(shown.size)}</span>
          </div>
          <FilePreview
            name={shown.name}
            size={shown.size}
            id={[bucket, shown.key, shown.modifiedAt ?? ""]}
            read={(most) => readStart(bucket, shown.key, most)}
          />
          <div className="actions">
            <Button
              onClick={() => {
                show(undefined);
              }}
            >
              {common.close}
            </Button>
            <a
              className={buttonClass("primary")}
              href={objectAddress(bucket, shown.key)}
              download={fileName(shown.name)}
            >
              <Icon name="download" />
              {texts.download}
            </a>
          </div>
        </Dialog>
      )}
    </div>
  );
}

function EmptyFolder(props: {
  bucket: string;
  prefix: string;
  isBusy: boolean;
  onPick: (picked: Picked[]) => void;
}) {
  const { store: texts } = useTexts();
  return (
    <Empty
      icon="upload"
      title={texts.emptyFolder}
      actions={<FileButtons onPick={props.onPick} isBusy={props.isBusy} />}
    >
      <p>{texts.emptyText}</p>
      <Code text={copyToStore(props.bucket, props.prefix)} />
    </Empty>
  );
}
