import { useQuery } from "@tanstack/react-query";
import { flavorsQuery, type Flavor } from "@/api/flavors";
import { devicesOf, nodesQuery } from "@/api/nodes";
import { ProblemLine } from "@/parts/Empty";
import { CheckField, Segments, SelectField, TextField } from "@/parts/Field";
import { showPrice } from "@/parts/money";
import { useLocale, useTexts } from "@/texts/language";
import { FlavorField } from "./FlavorField";
import { ROLE, type Form, type Kind, type RoleForm } from "./form";
import { RolesField } from "./RolesField";
import type { Part } from "./SubmitForm";
import styles from "./submit.module.css";

const LAUNCHERS = ["mpi", "horovod", "deepspeed", "colossalai", "ray"] as const;
const LAUNCHES = ["plain", "ddp", "ascend", ...LAUNCHERS] as const;
const LAUNCHES_OF_ROLES = ["ps_worker", "plain", ...LAUNCHERS] as const;

/** What to begin with: the two roles that every such job has. */
const FIRST_ROLES: readonly RoleForm[] = [
  { ...ROLE, name: "worker", count: "2" },
  { ...ROLE, name: "ps" },
];

export function WhereSection(props: { part: Part }) {
  const { submit: texts, flavors: named } = useTexts();
  const { form, wrong, set } = props.part;
  const { data, error, refetch } = useQuery(flavorsQuery);
  const nodes = useQuery(nodesQuery);
  const offered = (data ?? []).filter((one) => one.is_enabled);
  const flavor = offered.find((one) => one.name === form.flavor);
  const isByFlavor = form.flavor !== "";
  const hints: Record<Kind, string> = {
    regular: texts.regularHint,
    distributed: texts.distributedHint,
    roles: texts.rolesHint,
  };
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>{texts.where}</h2>
        <Total form={form} flavor={flavor} />
      </div>
      <div className={`panel-body ${styles.fields ?? ""}`}>
        {error && <ProblemLine error={error} onRetry={() => void refetch()} />}
        {nodes.error && <ProblemLine error={nodes.error} onRetry={() => void nodes.refetch()} />}
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
                set(ofKind(kind, form, flavor?.device ?? form.device));
              }}
            />
          </div>
          <p className="hint">{hints[form.kind]}</p>
        </div>
        {form.kind === "roles" ? (
          <Roles part={props.part} flavors={offered} />
        ) : (
          <>
            {(offered.length > 0 || isByFlavor) && (
              <div className="field">
                <span className="label">{named.choose}</span>
                <div>
                  <Segments<"flavor" | "hand">
                    label={named.choose}
                    value={isByFlavor ? "flavor" : "hand"}
                    choices={[
                      ["flavor", named.byFlavor],
                      ["hand", named.byHand],
                    ]}
                    onChange={(way) => {
                      set({ flavor: way === "flavor" ? (offered[0]?.name ?? "") : "" });
                    }}
                  />
                </div>
              </div>
            )}
            {isByFlavor ? (
              <>
                <FlavorField
                  flavors={offered}
                  value={form.flavor}
                  wrong={
                    wrong.flavor ?? (data && !flavor ? named.goneFlavor(form.flavor) : undefined)
                  }
                  onChange={(one) => {
                    set({
                      flavor: one.name,
                      ...(one.device.startsWith("npu") && { launch: "ascend" }),
                    });
                  }}
                />
                {form.kind === "distributed" && <NodesField part={props.part} />}
              </>
            ) : (
              <ByHand part={props.part} />
            )}
          </>
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

/** Devices of a type, so many on each node. */
function ByHand(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  const { data: nodes } = useQuery(nodesQuery);
  const devices = devicesOf(nodes ?? []);
  // without a model, any will do
  const fitting = devices.filter(
    ({ device }) => device === form.device || device.startsWith(`${form.device}:`),
  );
  const names = namesOf(devices);
  if (!names.includes(form.device)) names.push(form.device);
  const there = fitting.reduce((sum, one) => sum + one.total, 0);
  const free = there ? there - fitting.reduce((sum, one) => sum + one.used, 0) : undefined;
  return (
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
        hint={
          free !== undefined && numNodes(form) * Number(form.count) > free
            ? texts.notEnough
            : undefined
        }
        onChange={(event) => {
          set({ count: event.target.value });
        }}
      />
      {form.kind === "distributed" && <NodesField part={props.part} />}
    </div>
  );
}

function NodesField(props: { part: Part }) {
  const { submit: texts } = useTexts();
  const { form, wrong, set } = props.part;
  return (
    <TextField
      label={texts.nodes}
      inputMode="numeric"
      value={form.nodes}
      wrong={wrong.nodes}
      onChange={(event) => {
        set({ nodes: event.target.value });
      }}
    />
  );
}

/** All devices together, or what all nodes cost in an hour. */
function Total(props: { form: Form; flavor: Flavor | undefined }) {
  const { submit: texts, flavors: named } = useTexts();
  const locale = useLocale();
  const { form, flavor } = props;
  const nodes = numNodes(form);
  if (form.kind === "roles") return null;
  if (form.flavor) {
    if (!flavor || !(nodes > 0)) return null;
    const price = String(Number(flavor.price_per_hour) * nodes);
    const shown = named.perHour(showPrice(price, flavor.currency, locale));
    return <span className="muted number">{named.allNodes(shown)}</span>;
  }
  const total = nodes * Number(form.count);
  if (!Number.isFinite(total) || total <= 0) return null;
  return <span className="muted number">{texts.total(total, form.device)}</span>;
}

function numNodes(form: Form): number {
  return form.kind === "distributed" ? Number(form.nodes) : 1;
}

function Roles(props: { part: Part; flavors: readonly Flavor[] }) {
  const { form, wrong, wrongRoles, set } = props.part;
  const { data: nodes } = useQuery(nodesQuery);
  return (
    <RolesField
      roles={form.roles}
      devices={namesOf(devicesOf(nodes ?? []))}
      flavors={props.flavors}
      wrong={wrong.roles}
      places={wrong.roles === undefined ? {} : wrongRoles}
      onChange={(roles) => {
        set({ roles });
      }}
    />
  );
}

function namesOf(devices: readonly { device: string }[]): string[] {
  return ["cpu", ...devices.map((one) => one.device).filter((name) => name !== "cpu")];
}

/** The usual launch mode of a kind of job; what was said of roles stays. */
function ofKind(kind: Kind, form: Form, device: string): Partial<Form> {
  if (kind === "roles") {
    const roles = form.roles.length
      ? form.roles
      : FIRST_ROLES.map((role) => ({ ...role, command: form.command }));
    return { kind, launch: "ps_worker", roles };
  }
  const usual = kind === "distributed" ? "ddp" : "plain";
  return { kind, launch: device.startsWith("npu") ? "ascend" : usual };
}
