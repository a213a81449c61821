import { useId } from "react";
import type { Flavor } from "@/api/flavors";
import { shapeOf } from "@/parts/flavor";
import { Icon } from "@/parts/Icon";
import { PerHour } from "@/parts/money";
import { useTexts } from "@/texts/language";
import styles from "./submit.module.css";

/** Machine shapes with their prices, all in sight. */
export function FlavorField(props: {
  flavors: readonly Flavor[];
  value: string;
  wrong?: string;
  onChange: (flavor: Flavor) => void;
}) {
  const { flavors: texts } = useTexts();
  const id = useId();
  return (
    <fieldset className="field" aria-describedby={props.wrong ? `${id}-wrong` : undefined}>
      <legend className="label">{texts.flavor}</legend>
      <div className={styles.flavors}>
        {props.flavors.map((flavor) => (
          <label key={flavor.name} className={styles.flavor} title={flavor.description}>
            <input
              type="radio"
              name={id}
              checked={flavor.name === props.value}
              aria-invalid={props.wrong && flavor.name === props.value ? true : undefined}
              onChange={() => {
                props.onChange(flavor);
              }}
            />
            <span className={styles.flavorBody}>
              <strong className="wrap">{flavor.name}</strong>
              <strong>
                <PerHour price={flavor.price_per_hour} currency={flavor.currency} />
              </strong>
              <span className="muted small">{shapeOf(flavor)}</span>
              <span className="muted small number">
                {flavor.num_total ? texts.freeNow(flavor.num_free) : texts.noSuchNode}
              </span>
            </span>
          </label>
        ))}
      </div>
      {props.wrong !== undefined && (
        <p className="wrong" id={`${id}-wrong`}>
          <Icon name="warning" />
          <span>{props.wrong}</span>
        </p>
      )}
    </fieldset>
  );
}
