import { useNavigate, useSearch } from "@tanstack/react-router";
import { DIRECTIONS } from "@/api/flow";
import { Segments } from "@/parts/Field";
import { Flow } from "@/parts/flow/Flow";
import { Empty } from "@/parts/Empty";
import { useTexts } from "@/texts/language";

const DEPTHS = ["1", "3", "5", "10", "30"] as const;

/** The data flow around anything, on a page of its own. */
export function FlowPage() {
  const { flow: texts } = useTexts();
  const { node, direction = "both", depth = 5 } = useSearch({ from: "/inside/flow" });
  const navigate = useNavigate({ from: "/flow" });
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
        {node !== undefined && <code className="wrap">{node}</code>}
      </div>
      {node === undefined ? (
        <div className="panel">
          <Empty icon="link" title={texts.alone}>
            <p>{texts.aloneText}</p>
          </Empty>
        </div>
      ) : (
        <>
          <div className="toolbar">
            <Segments
              label={texts.direction}
              value={direction}
              choices={DIRECTIONS.map((one) => [one, texts[one]] as const)}
              onChange={(next) => {
                void navigate({
                  search: (before) => ({
                    ...before,
                    direction: next === "both" ? undefined : next,
                  }),
                });
              }}
            />
            <span className="muted small">{texts.depth}</span>
            <Segments
              label={texts.depth}
              value={DEPTHS.find((one) => one === String(depth)) ?? "5"}
              choices={DEPTHS.map((one) => [one, one] as const)}
              onChange={(next) => {
                void navigate({
                  search: (before) => ({
                    ...before,
                    depth: next === "5" ? undefined : Number(next),
                  }),
                });
              }}
            />
          </div>
          <Flow node={node} direction={direction} depth={depth} height="calc(100vh - 13rem)" />
        </>
      )}
    </div>
  );
}
