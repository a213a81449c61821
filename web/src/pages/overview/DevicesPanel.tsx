import { useQuery } from "@tanstack/react-query";
import { devicesOf, nodesQuery } from "@/api/nodes";
import { Found } from "@/parts/Found";
import { showBytes } from "@/parts/numbers";
import { useTexts } from "@/texts/language";
import { Meter } from "./Meter";

export function DevicesPanel() {
  const { overview: texts } = useTexts();
  const found = useQuery(nodesQuery);
  const nodes = found.data;
  const up = nodes?.filter((node) => node.is_reachable) ?? [];
  const sum = (pick: (node: (typeof up)[number]) => number) =>
    up.reduce((all, node) => all + pick(node), 0);
  const devices = devicesOf(up);
  const cpus = sum((node) => node.cpus);
  const memory = sum((node) => node.memory_bytes);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.devices}</h2>
        {nodes && <span className="muted">{texts.nodes(nodes.length, up.length)}</span>}
      </div>
      <Found of={found} lines={3}>
        {() => (
          <div className="panel-body">
            {devices.map((use) => (
              <Meter
                key={use.device}
                name={use.device}
                told={texts.used(use.used, use.total)}
                part={use.used / use.total}
              />
            ))}
            <Meter
              name={texts.cores}
              told={`${String(sum((node) => node.cpus_reserved))} / ${String(cpus)}`}
              part={cpus ? sum((node) => node.cpus_reserved) / cpus : 0}
            />
            <Meter
              name={texts.memory}
              told={`${showBytes(sum((node) => node.memory_reserved_bytes))} / ${showBytes(memory)}`}
              part={memory ? sum((node) => node.memory_reserved_bytes) / memory : 0}
            />
          </div>
        )}
      </Found>
    </section>
  );
}
