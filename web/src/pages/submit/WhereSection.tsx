import { useQuery } from "@tanstack/react-query";
import { devicesOf, nodesQuery } from "@/api/nodes";
import { CheckField, Segments, SelectField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import type { Kind } from "./form";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

const LAUNCHES = ["plain", "ddp", "ascend", "mpi", "horovod"] as const;

export function WhereSection(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  const { data: nodes } = useQuery(nodesQuery);
  const devices = devicesOf(nodes ?? []);
  const chosen = devices.find((one) => one.device === form.device);
  const names = ["cpu", ...devices.map((one) => one.device).filter((name) => name !== "cpu")];
  if (!names.includes(form.device)) names.push(form.device);
  const numNodes = form.kind === "distributed" ? Number(form.nodes) : 1;
  const total = numNodes * Number(form.count);
  const free = chosen ? chosen.total - chosen.used : undefined;
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.where}</h2>
        {Number.isFinite(total) && total > 0 && (
          <span className="muted number">{texts.total(total, form.device)}</span>
        )}
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        <div className="field">
          <span className="label">{texts.kind}</span>
          <div>
            <Segments<Kind>
              label={texts.kind}
              value={form.kind}
              choices={[
                ["regular", texts.regular],
                ["distributed", texts.distributed],
              ]}
              onChange={(kind) => {
                const usual = form.device.startsWith("npu")
                  ? "ascend"
                  : kind === "distributed"
                    ? "ddp"
                    : "plain";
                set({ kind, launch: usual });
              }}
            />
          </div>
          <p className="hint">
            {form.kind === "regular" ? texts.regularHint : texts.distributedHint}
          </p>
        </div>
        <div className={styles.row}>
          <SelectField
            label={texts.device}
            value={form.device}
            hint={free === undefined || !chosen ? texts.cpuHint : texts.free(free, chosen.total)}
            choices={names.map((name) => [name, name] as const)}
            onChange={(event) => {
              const device = event.target.value;
              set({ device, ...(device.startsWith("npu") && { launch: "ascend" }) });
            }}
          />
          <TextField
            label={texts.count}
            inputMode="numeric"
            value={form.count}
            wrong={wrong.count}
            hint={free !== undefined && total > free ? texts.notEnough : undefined}
            onChange={(event) => {
              set({ count: event.target.value });
            }}
          />
          {form.kind === "distributed" && (
            <TextField
              label={texts.nodes}
              inputMode="numeric"
              value={form.nodes}
              wrong={wrong.nodes}
              onChange={(event) => {
                set({ nodes: event.target.value });
              }}
            />
          )}
        </div>
        <SelectField
          label={texts.launch}
          value={form.launch}
          wrong={wrong.launch}
          choices={LAUNCHES.map((name) => [name, texts.launches[name]] as const)}
          onChange={(event) => {
            set({ launch: event.target.value });
          }}
        />
        <CheckField
          label={texts.preemptible}
          hint={texts.preemptibleHint}
          checked={form.preemptible}
          onChange={(event) => {
            set({ preemptible: event.target.checked });
          }}
        />
      </div>
    </section>
  );
}
