import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { asProblem } from "@/api/problem";
import { bucketsQuery, useMakeBucket } from "@/api/store";
import { useProject } from "@/frame/ProjectPicker";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { FormDialog } from "@/parts/Dialog";
import { Empty } from "@/parts/Empty";
import { TextField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import { Browser } from "./Browser";

export function StorePage() {
  const { bucket } = useSearch({ from: "/inside/store" });
  return bucket === undefined ? <Buckets /> : <Browser key={bucket} bucket={bucket} />;
}

function Buckets() {
  const { store: texts } = useTexts();
  const project = useProject();
  const found = useQuery(bucketsQuery);
  const [isMaking, setIsMaking] = useState(false);
  const rows = (found.data ?? []).filter((one) => project === undefined || one.project === project);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        <div className="actions">
          <Button
            icon="plus"
            kind="primary"
            onClick={() => {
              setIsMaking(true);
            }}
          >
            {texts.makeBucket}
          </Button>
        </div>
      </div>
      <Found of={found}>
        {() =>
          rows.length ? (
            <DataTable
              label={texts.buckets}
              rows={rows}
              rowId={(row) => row.name}
              columns={[
                {
                  id: "name",
                  title: texts.bucket,
                  cell: (row) => (
                    <Link className="row-name" to="/store" search={{ bucket: row.name }}>
                      {row.name}
                    </Link>
                  ),
                },
                { id: "project", title: texts.project, cell: (row) => row.project },
              ]}
            />
          ) : (
            <div className="panel">
              <Empty icon="store" title={texts.noBuckets}>
                <p>{texts.noBucketsText}</p>
              </Empty>
            </div>
          )
        }
      </Found>
      {isMaking && (
        <MakeBucket
          onClose={() => {
            setIsMaking(false);
          }}
        />
      )}
    </div>
  );
}

function MakeBucket(props: { onClose: () => void }) {
  const { store: texts } = useTexts();
  const { say } = useMessages();
  const project = useProject();
  const make = useMakeBucket();
  const navigate = useNavigate();
  const problem = make.error ? asProblem(make.error) : undefined;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name"));
    make.mutate(
      { name, project },
      {
        onSuccess: () => {
          say(texts.made(name));
          props.onClose();
          void navigate({ to: "/store", search: { bucket: name } });
        },
      },
    );
  };
  return (
    <FormDialog
      title={texts.makeBucket}
      action={texts.makeBucket}
      fields={["name"]}
      error={make.error}
      isBusy={make.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      <TextField
        label={texts.bucketName}
        name="name"
        hint={texts.bucketHint}
        wrong={problem?.fields.name}
        required
        autoCapitalize="none"
      />
    </FormDialog>
  );
}
