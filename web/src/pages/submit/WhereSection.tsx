import { useQuery } from "@tanstack/react-query";
import { devicesOf, nodesQuery } from "@/api/nodes";
import { CheckField, Segments, SelectField, TextField } from "@/parts/Field";
import { useTexts } from "@/texts/language";
import { ROLE, type Form, type Kind, type RoleForm } from "./form";
import { RolesField } from "./RolesField";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

const LAUNCHES = ["plain", "ddp", "ascend", "mpi", "horovod"] as const;
const LAUNCHES_OF_ROLES = ["ps_worker", "plain", "mpi", "horovod"] as const;

/** What to begin with: the two roles that every such job has. */
const FIRST_ROLES: readonly RoleForm[] = [
  { ...ROLE, name: "worker", count: "2" },
  { ...ROLE, name: "ps" },
];

export function WhereSection(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  const { data: nodes } = useQuery(nodesQuery);
  const devices = devicesOf(nodes ?? []);
  // without a model, any will do
  const fitting = devices.filter(
    ({ device }) => device === form.device || device.startsWith(`${form.device}:`),
  );
  const names = ["cpu", ...devices.map((one) => one.device).filter((name) => name !== "cpu")];
  if (!names.includes(form.device)) names.push(form.device);
  const numNodes = form.kind === "distributed" ? Number(form.nodes) : 1;
  const total = numNodes * Number(form.count);
  const there = fitting.reduce((sum, one) => sum + one.total, 0);
  const free = there ? there - fitting.reduce((sum, one) => sum + one.used, 0) : undefined;
  const hints: Record<Kind, string> = {
    regular: texts.regularHint,
    distributed: texts.distributedHint,
    roles: texts.rolesHint,
  };
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.where}</h2>
        {form.kind !== "roles" && Number.isFinite(total) && total > 0 && (
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
                ["roles", texts.roles],
              ]}
              onChange={(kind) => {
                set(ofKind(kind, form));
              }}
            />
          </div>
          <p className="hint">{hints[form.kind]}</p>
        </div>
        {form.kind === "roles" ? (
          <RolesField
            roles={form.roles}
            devices={names}
            wrong={wrong.roles}
            places={wrong.roles === undefined ? {} : props.part.wrongRoles}
            onChange={(roles) => {
              set({ roles });
            }}
          />
        ) : (
          <div className={styles.row}>
            <SelectField
              label={texts.device}
              value={form.device}
              hint={free === undefined ? texts.cpuHint : texts.free(free, there)}
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
        )}
        <div className={styles.row}>
          <SelectField
            label={texts.launch}
            value={form.launch}
            wrong={wrong.launch}
            choices={(form.kind === "roles" ? LAUNCHES_OF_ROLES : LAUNCHES).map(
              (name) => [name, texts.launches[name]] as const,
            )}
            onChange={(event) => {
              set({ launch: event.target.value });
            }}
          />
          {form.launch === "ascend" && (
            <SelectField
              label={texts.processes}
              value={form.processes}
              wrong={wrong.processes}
              choices={[
                ["per_node", texts.perNode],
                ["per_device", texts.perDevice],
              ]}
              onChange={(event) => {
                set({ processes: event.target.value });
              }}
            />
          )}
        </div>
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

/** The usual launch mode of a kind of job; what was said of roles stays. */
function ofKind(kind: Kind, form: Form): Partial<Form> {
  if (kind === "roles") {
    const roles = form.roles.length
      ? form.roles
      : FIRST_ROLES.map((role) => ({ ...role, command: form.command }));
    return { kind, launch: "ps_worker", roles };
  }
  const usual = kind === "distributed" ? "ddp" : "plain";
  return { kind, launch: form.device.startsWith("npu") ? "ascend" : usual };
}
