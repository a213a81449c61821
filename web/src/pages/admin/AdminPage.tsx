import { useSearch } from "@tanstack/react-router";
import { useMe } from "@/api/session";
import { ApiProblem } from "@/api/problem";
import { Problem } from "@/parts/Empty";
import { Tabs } from "@/parts/Tabs";
import { useTexts } from "@/texts/language";
import { AuditTable } from "./AuditTable";
import { CostsTab } from "./CostsTab";
import { FlavorsTab } from "./FlavorsTab";
import { FrameworksTab } from "./FrameworksTab";
import { PeopleTab } from "./PeopleTab";

export function AdminPage() {
  const { admin: texts } = useTexts();
  const me = useMe();
  const { tab = "people" } = useSearch({ from: "/inside/admin" });
  if (!me.is_admin) return <Problem error={new ApiProblem(403, "Forbidden", "", {})} />;
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
      </div>
      <Tabs
        label={texts.title}
        tabs={[
          ["people", texts.tabs.people],
          ["flavors", texts.tabs.flavors],
          ["frameworks", texts.tabs.frameworks],
          ["costs", texts.tabs.costs],
          ["audit", texts.tabs.audit],
        ]}
        shown={tab}
      />
      {tab === "people" && <PeopleTab />}
      {tab === "flavors" && <FlavorsTab />}
      {tab === "frameworks" && <FrameworksTab />}
      {tab === "costs" && <CostsTab />}
      {tab === "audit" && <AuditTable />}
    </div>
  );
}
