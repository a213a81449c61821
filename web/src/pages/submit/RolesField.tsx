import { AreaField, SelectField, TextField } from "@/parts/Field";
import { Button } from "@/parts/Button";
import { Notice } from "@/parts/Empty";
import type { Flavor } from "@/api/flavors";
import { showPrice } from "@/parts/money";
import { own } from "@/parts/own";
import { useLocale, useTexts } from "@/texts/language";
import { ROLE, type RoleForm } from "./form";
import styles from "./submit.module.css";

/** Roles: each with its nodes, its command and its devices. */
export function RolesField(props: {
  roles: readonly RoleForm[];
  devices: readonly string[];
  flavors: readonly Flavor[];
  /** What is wrong with all of them together. */
  wrong: string | undefined;
  /** By place: `worker.command`. */
  places: Readonly<Record<string, string>>;
  onChange: (roles: RoleForm[]) => void;
}) {
  const { submit: texts, flavors: named } = useTexts();
  const locale = useLocale();
  const { roles, places } = props;
  const flavorChoices = (chosen: string): (readonly [string, string])[] => [
    ["", named.byHand],
    ...props.flavors.map((one) => {
      const price = named.perHour(showPrice(one.price_per_hour, one.currency, locale));
      return [one.name, `${one.name}, ${price}`] as const;
    }),
    ...(chosen === "" || props.flavors.some((one) => one.name === chosen)
      ? []
      : [[chosen, `${chosen} (${named.gone})`] as const]),
  ];
  const change = (at: number, to: Partial<RoleForm>) => {
    props.onChange(roles.map((role, index) => (index === at ? { ...role, ...to } : role)));
  };
  const names = new Set(roles.map((role) => role.name));
  const isElsewhere = (place: string) => !names.has(place.split(".")[0] ?? "");
  const general = Object.keys(places).length
    ? Object.entries(places)
        .filter(([place]) => isElsewhere(place))
        .map(([place, problem]) => `${place}: ${problem}`)
    : props.wrong !== undefined
      ? [props.wrong]
      : [];
  return (
    <div className={styles.fields}>
      {roles.map((role, index) => {
        const wrong = (field: string) => places[`${role.name}.${field}`];
        const devices = props.devices.includes(role.device)
          ? props.devices
          : [...props.devices, role.device];
        return (
          <fieldset key={index} className={styles.role}>
            <legend className="label">
              {texts.role} {index + 1}
            </legend>
            <div className={styles.tight}>
              <TextField
                label={texts.role}
                value={role.name}
                wrong={own(places, role.name) ?? wrong("name")}
                autoComplete="off"
                onChange={(event) => {
                  change(index, { name: event.target.value });
                }}
              />
              <TextField
                label={texts.roleCount}
                inputMode="numeric"
                value={role.count}
                wrong={wrong("count")}
                onChange={(event) => {
                  change(index, { count: event.target.value });
                }}
              />
              {(props.flavors.length > 0 || role.flavor) && (
                <SelectField
                  label={named.flavor}
                  value={role.flavor}
                  wrong={wrong("flavor")}
                  choices={flavorChoices(role.flavor)}
                  onChange={(event) => {
                    change(index, { flavor: event.target.value });
                  }}
                />
              )}
              {!role.flavor && (
                <>
                  <SelectField
                    label={texts.device}
                    value={role.device}
                    choices={devices.map((name) => [name, name] as const)}
                    onChange={(event) => {
                      change(index, { device: event.target.value });
                    }}
                  />
                  <TextField
                    label={texts.count}
                    inputMode="numeric"
                    value={role.devices}
                    wrong={wrong("resources.device")}
                    onChange={(event) => {
                      change(index, { devices: event.target.value });
                    }}
                  />
                </>
              )}
            </div>
            <AreaField
              label={texts.command}
              isCode
              rows={2}
              value={role.command}
              wrong={wrong("command")}
              onChange={(event) => {
                change(index, { command: event.target.value });
              }}
            />
            <div>
              <Button
                isSmall
                kind="plain"
                icon="trash"
                onClick={() => {
                  props.onChange(roles.filter((_, at) => at !== index));
                }}
              >
                {texts.removeRole(role.name)}
              </Button>
            </div>
          </fieldset>
        );
      })}
      {general.length > 0 && (
        <Notice kind="bad">
          {general.map((one) => (
            <div key={one}>{one}</div>
          ))}
        </Notice>
      )}
      <div>
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            props.onChange([...roles, ROLE]);
          }}
        >
          {texts.addRole}
        </Button>
      </div>
    </div>
  );
}
