import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { holdingsQuery } from "@/api/nodes";
import { colorOf } from "@/parts/chart/colors";
import { DataTable } from "@/parts/DataTable";
import { Found } from "@/parts/Found";
import { showNumber } from "@/parts/numbers";
import { useIsDark } from "@/parts/theme";
import { exact } from "@/parts/time";
import { useLocale, useTexts } from "@/texts/language";
import { History } from "./History";
import { lanesOf, totalsOf, type Span, type Total } from "./lanes";
import styles from "./timeline.module.css";

const HOURS = [6, 24, 7 * 24, 30 * 24] as const;
const TICKS = 4;

type Held = Awaited<ReturnType<NonNullable<ReturnType<typeof holdingsQuery>["queryFn"]>>>;

/** Who held what and when. */
export function Timeline() {
  const { cluster: texts } = useTexts();
  const [hours, setHours] = useState<number>(24);
  const found = useQuery({ ...holdingsQuery(hours), placeholderData: keepPreviousData });
  return (
    <section className="panel" aria-label={texts.timeline}>
      <div className="panel-head">
        <h2>{texts.timeline}</h2>
        <select
          className="input fit"
          aria-label={texts.period}
          value={hours}
          onChange={(event) => {
            setHours(Number(event.target.value));
          }}
        >
          {HOURS.map((one) => (
            <option key={one} value={one}>
              {texts.lastHours(one)}
            </option>
          ))}
        </select>
      </div>
      <Found of={found}>
        {(held) =>
          held.items.length ? (
            <Drawn held={held} />
          ) : (
            <p className="panel-body muted">{texts.nothingHeld}</p>
          )
        }
      </Found>
    </section>
  );
}

function Drawn(props: { held: Held }) {
  const { items, since, until } = props.held;
  const { cluster: texts } = useTexts();
  const locale = useLocale();
  const isDark = useIsDark();
  const nodes = useMemo(() => lanesOf(items, since, until), [items, since, until]);
  const totals = useMemo(() => totalsOf(items, since, until), [items, since, until]);
  const colors = new Map(totals.map(({ owner }, at) => [owner, colorOf(at % 8, isDark)]));
  const ticks = Array.from(
    { length: TICKS + 1 },
    (_, at) => since + ((until - since) * at) / TICKS,
  );
  return (
    <>
      <History items={items} since={since} until={until} colors={colors} />
      <div className={styles.box} tabIndex={0} role="region" aria-label={texts.timeline}>
        {nodes.map(({ node, lanes }) => (
          <div key={node} className={styles.node}>
            <h3 className="wrap">{node}</h3>
            {lanes.map((lane, at) => (
              <div key={at} className={styles.lane}>
                <span className={styles.label}>{lane.label}</span>
                <div className={styles.track}>
                  {lane.spans.map((span, index) => (
                    <Bar key={index} span={span} color={colors.get(span.holding.owner ?? "")} />
                  ))}
                </div>
              </div>
            ))}
          </div>
        ))}
        <div className={styles.ticks} aria-hidden="true">
          {ticks.map((at) => (
            <span key={at}>{tick(at, until - since, locale)}</span>
          ))}
        </div>
      </div>
      <DataTable
        label={texts.heldBy}
        rows={totals}
        rowId={(row) => `${row.owner} ${row.project}`}
        columns={[
          {
            id: "owner",
            title: texts.owner,
            cell: (row: Total) => (
              <>
                <span
                  className={styles.swatch}
                  style={{ background: colors.get(row.owner) }}
                  aria-hidden="true"
                />
                {row.owner || texts.otherProjects}
              </>
            ),
          },
          { id: "project", title: texts.project, cell: (row) => row.project || "–" },
          {
            id: "devices",
            title: texts.deviceHours,
            isEnd: true,
            cell: (row) => showNumber(rounded(row.deviceHours)),
          },
          {
            id: "cores",
            title: texts.coreHours,
            isEnd: true,
            cell: (row) => showNumber(rounded(row.coreHours)),
          },
        ]}
      />
    </>
  );
}

function Bar(props: { span: Span; color: string | undefined }) {
  const { holding, from, to } = props.span;
  const { cluster: texts } = useTexts();
  const locale = useLocale();
  const style = {
    left: `${String(from * 100)}%`,
    width: `${String((to - from) * 100)}%`,
    background: props.color,
  };
  const when = [holding.started_at, holding.ended_at]
    .map((at) => (at ? exact(new Date(at), locale) : "…"))
    .join(" – ");
  const whose = [holding.name, holding.owner, holding.project].filter(Boolean).join(" · ");
  const told = `${whose || texts.otherProjects}: ${when}`;
  if (!holding.job) return <span className={styles.bar} style={style} title={told} />;
  return (
    <Link
      to="/jobs/$id"
      params={{ id: holding.job }}
      preload={false}
      className={styles.bar}
      style={style}
      title={told}
      aria-label={told}
    />
  );
}

function tick(at: number, length: number, locale: string): string {
  const isShort = length <= 36 * 3_600_000;
  const form = isShort
    ? ({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const)
    : ({ month: "short", day: "numeric" } as const);
  return new Intl.DateTimeFormat(locale, form).format(at);
}

function rounded(hours: number): number {
  return Number(hours.toPrecision(3));
}
