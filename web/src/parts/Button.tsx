import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

type Kind = "normal" | "primary" | "danger" | "plain";

type Props = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> & {
  kind?: Kind;
  icon?: IconName;
  /** For a button that shows its icon only: what it does. */
  label?: string;
  isSmall?: boolean;
  isBusy?: boolean;
  children?: ReactNode;
};

export function Button({
  kind = "normal",
  icon,
  label,
  isSmall,
  isBusy,
  children,
  ...rest
}: Props) {
  return (
    <button
      type="button"
      {...rest}
      className={buttonClass(kind, { isSmall, isIconOnly: children === undefined })}
      aria-label={label}
      title={label}
      aria-busy={isBusy}
      disabled={rest.disabled === true || isBusy}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** For links that look like buttons. */
export function buttonClass(
  kind: Kind = "normal",
  { isSmall = false, isIconOnly = false }: { isSmall?: boolean; isIconOnly?: boolean } = {},
): string {
  const words = ["button", kind === "normal" ? "" : kind];
  if (isSmall) words.push("small");
  if (isIconOnly) words.push("icon-only");
  return words.filter(Boolean).join(" ");
}
