import { useQuery } from "@tanstack/react-query";
import {
  frameworksQuery,
  useChangeFramework,
  useDeleteFramework,
  type Framework,
} from "@/api/flavors";
import type { Column } from "@/parts/DataTable";
import { useTexts, type Texts } from "@/texts/language";
import { FrameworkDialog } from "./FrameworkDialog";
import { Offers } from "./Offers";

/** Environments that jobs can ask for by name. */
export function FrameworksTab() {
  const { flavors: texts } = useTexts();
  return (
    <Offers
      found={useQuery(frameworksQuery)}
      changes={{ change: useChangeFramework(), remove: useDeleteFramework() }}
      columns={frameworkColumns(texts)}
      texts={{
        label: texts.frameworks,
        about: texts.frameworksText,
        add: texts.addFramework,
        none: texts.noFrameworks,
        noneText: texts.noFrameworksText,
      }}
      icon="models"
      dialog={(edited, close) => <FrameworkDialog framework={edited} onClose={close} />}
    />
  );
}

function frameworkColumns(texts: Texts["flavors"]): Column<Framework>[] {
  return [
    {
      id: "title",
      title: texts.title,
      isClipped: true,
      isWideOnly: true,
      sort: (framework) => framework.title,
      cell: (framework) => <span title={framework.title}>{framework.title || "–"}</span>,
    },
    {
      id: "image",
      title: texts.image,
      isClipped: true,
      isWideOnly: true,
      sort: (framework) => framework.image,
      cell: (framework) =>
        framework.image ? (
          <code title={framework.image}>{framework.image}</code>
        ) : (
          <span className="muted" title={texts.own}>
            {texts.own}
          </span>
        ),
    },
    {
      id: "launch",
      title: texts.launch,
      isWideOnly: true,
      cell: (framework) => framework.launch.join(", ") || texts.allModes,
    },
  ];
}
