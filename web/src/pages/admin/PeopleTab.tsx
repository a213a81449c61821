import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { usersQuery, type Person } from "@/api/people";
import { Button } from "@/parts/Button";
import { DataTable, sorted, type Column, type Sort } from "@/parts/DataTable";
import { SearchField } from "@/parts/Field";
import { Found } from "@/parts/Found";
import { Ago } from "@/parts/time";
import { useTexts, type Texts } from "@/texts/language";
import { InviteDialog } from "./InviteDialog";
import { PersonMenu } from "./PersonMenu";
import { Registrations } from "./Registrations";

/** Who wants in, and who is in. */
export function PeopleTab() {
  const all = useTexts();
  const { admin: texts, common } = all;
  const found = useQuery(usersQuery);
  const [words, setWords] = useState("");
  const [isInviting, setIsInviting] = useState(false);
  const [sort, setSort] = useState<Sort>({ by: "name", isDown: false });
  const columns = personColumns(all);
  const shown = (found.data ?? []).filter((person) =>
    `${person.name} ${person.full_name} ${person.email ?? ""}`
      .toLowerCase()
      .includes(words.trim().toLowerCase()),
  );
  return (
    <>
      <Registrations />
      <div className="toolbar">
        <h2>{texts.people}</h2>
        <SearchField
          label={common.search}
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
          }}
        />
        <Button
          icon="plus"
          kind="primary"
          onClick={() => {
            setIsInviting(true);
          }}
        >
          {texts.invite}
        </Button>
      </div>
      <Found of={found}>
        {() => (
          <DataTable
            label={texts.people}
            rows={sorted(shown, columns, sort)}
            columns={columns}
            rowId={(person) => person.name}
            sort={sort}
            onSort={setSort}
          />
        )}
      </Found>
      {isInviting && (
        <InviteDialog
          onClose={() => {
            setIsInviting(false);
          }}
        />
      )}
    </>
  );
}

const LOOKS = { invited: "wait", active: "ok", disabled: "" } as const;

function personColumns({ admin: texts }: Texts): Column<Person>[] {
  return [
    {
      id: "name",
      title: texts.name,
      sort: (person) => person.name,
      cell: (person) => <strong>{person.name}</strong>,
    },
    {
      id: "full_name",
      title: texts.fullName,
      isClipped: true,
      isWideOnly: true,
      sort: (person) => person.full_name,
      cell: (person) => person.full_name || "–",
    },
    {
      id: "email",
      title: texts.email,
      isClipped: true,
      isWideOnly: true,
      sort: (person) => person.email,
      cell: (person) => person.email ?? "–",
    },
    {
      id: "state",
      title: texts.state,
      sort: (person) => person.state,
      cell: (person) => (
        <>
          <span className={`badge ${LOOKS[person.state]}`}>{texts.states[person.state]}</span>{" "}
          {person.is_admin && <span className="tag">{texts.isAdmin}</span>}
        </>
      ),
    },
    {
      id: "signed_in",
      title: texts.signedIn,
      isWideOnly: true,
      sort: (person) => person.signed_in_at,
      cell: (person) =>
        person.signed_in_at ? (
          <Ago at={person.signed_in_at} />
        ) : (
          <span className="faint">{texts.never}</span>
        ),
    },
    { id: "actions", title: "", isEnd: true, cell: (person) => <PersonMenu person={person} /> },
  ];
}
