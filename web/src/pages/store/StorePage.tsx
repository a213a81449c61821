import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { bucketsQuery } from "@/api/store";
import { useProject } from "@/frame/ProjectPicker";
import { Button } from "@/parts/Button";
import { DataTable } from "@/parts/DataTable";
import { Empty } from "@/parts/Empty";
import { Found } from "@/parts/Found";
import { useTexts } from "@/texts/language";
import { Browser } from "./Browser";
import { MakeBucket } from "./MakeBucket";

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
              <Empty
                icon="store"
                title={texts.noBuckets}
                actions={
                  <Button
                    icon="plus"
                    onClick={() => {
                      setIsMaking(true);
                    }}
                  >
                    {texts.makeBucket}
                  </Button>
                }
              >
                <p>{texts.noBucketsText}</p>
              </Empty>
            </div>
          )
        }
      </Found>
      {isMaking && (
        <MakeBucket
          project={project}
          onClose={() => {
            setIsMaking(false);
          }}
        />
      )}
    </div>
  );
}
