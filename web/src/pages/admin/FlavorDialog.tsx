import type { FormEvent } from "react";
import { useChangeFlavor, useMakeFlavor, type Flavor } from "@/api/flavors";
import { asProblem } from "@/api/problem";
import { FormDialog } from "@/parts/Dialog";
import { TextField } from "@/parts/Field";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";
import styles from "./admin.module.css";

const FIELDS = ["name", "device", "cpus", "memory", "price_per_hour", "description"] as const;

/** A new flavor, or one that there is. */
export function FlavorDialog(props: { flavor: Flavor | undefined; onClose: () => void }) {
  const { flavor } = props;
  const { flavors: texts, common } = useTexts();
  const { say } = useMessages();
  const make = useMakeFlavor();
  const change = useChangeFlavor();
  const error = make.error ?? change.error;
  const wrong = error ? asProblem(error).fields : {};
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: (typeof FIELDS)[number]) => String(form.get(name) ?? "").trim();
    const name = flavor?.name ?? text("name");
    const onSuccess = () => {
      say(flavor ? texts.changed(name) : texts.added(name));
      props.onClose();
    };
    // what is no number goes as it is: the server says what it expects
    const shared = {
      device: text("device"),
      price_per_hour: text("price_per_hour"),
      description: text("description"),
    };
    const nothing = flavor ? 0 : undefined;
    const amounts = {
      cpus: numberOr(text("cpus"), nothing),
      memory: text("memory") || nothing,
    };
    if (flavor) change.mutate({ name, ...shared, ...amounts }, { onSuccess });
    else make.mutate({ name, ...shared, ...amounts }, { onSuccess });
  };
  return (
    <FormDialog
      title={flavor ? texts.changeFlavor(flavor.name) : texts.addFlavor}
      action={flavor ? common.save : texts.addFlavor}
      fields={FIELDS}
      error={error}
      isBusy={make.isPending || change.isPending}
      onSubmit={submit}
      onClose={props.onClose}
    >
      {!flavor && (
        <TextField
          label={texts.name}
          name="name"
          hint={texts.flavorNameHint}
          required
          autoComplete="off"
          autoCapitalize="none"
          wrong={wrong.name}
        />
      )}
      <TextField
        label={texts.device}
        name="device"
        hint={texts.deviceHint}
        defaultValue={flavor?.device ?? "cpu:1"}
        wrong={wrong.device}
      />
      <div className={styles.row}>
        <TextField
          label={texts.cpus}
          name="cpus"
          isOptional
          inputMode="decimal"
          hint={texts.nothingReserved}
          defaultValue={flavor?.cpus ?? ""}
          wrong={wrong.cpus}
        />
        <TextField
          label={texts.memory}
          name="memory"
          isOptional
          hint={texts.memoryHint}
          defaultValue={memoryText(flavor?.memory)}
          wrong={wrong.memory}
        />
      </div>
      <TextField
        label={texts.price}
        name="price_per_hour"
        inputMode="decimal"
        hint={texts.priceHint}
        defaultValue={flavor?.price_per_hour ?? "0.00"}
        wrong={wrong.price_per_hour}
      />
      <TextField
        label={texts.description}
        name="description"
        isOptional
        defaultValue={flavor?.description}
        wrong={wrong.description}
      />
    </FormDialog>
  );
}

/** A number where it is one; nothing becomes `none`. */
function numberOr(text: string, none: number | undefined): number | undefined {
  if (!text) return none;
  const value = Number(text);
  return Number.isFinite(value) ? value : (text as unknown as number);
}

/** Bytes as people write them, and exactly the same amount. */
export function memoryText(bytes: number | null | undefined): string {
  if (bytes == null) return "";
  for (const [unit, size] of UNITS) if (bytes % size === 0) return `${String(bytes / size)}${unit}`;
  return String(bytes);
}

const UNITS = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["GB", 10 ** 9],
  ["MiB", 2 ** 20],
  ["MB", 10 ** 6],
] as const;
