import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { noticesQuery, useMarkRead, type Notice } from "@/api/notices";
import { visibleLine } from "@/foreign/visible";
import { AlertText } from "@/parts/AlertText";
import { Icon } from "@/parts/Icon";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { Ago } from "@/parts/time";
import { useTexts } from "@/texts/language";
import { canNotify, useBrowserNotices, useShownByBrowser } from "./browserNotices";
import styles from "./Frame.module.css";

/** The bell: what happened to one's own jobs. What is shown counts as read. */
export function NoticesMenu() {
  const { notices: texts } = useTexts();
  const { complainOf } = useRefused();
  const [isOn, setIsOn] = useBrowserNotices();
  const { data } = useQuery({ ...noticesQuery, refetchIntervalInBackground: isOn });
  const navigate = useNavigate();
  const words = useCallback(
    (notice: Notice) => ({
      title: visibleLine(nameOf(notice) || texts.platform),
      body: runOf(notice) ? visibleLine(notice.message) : texts.kinds[notice.kind],
    }),
    [texts],
  );
  const open = useCallback(
    (notice: Notice) => {
      const { job } = notice;
      const run = runOf(notice);
      if (run) void navigate({ to: "/experiments/$id", params: { id: run } });
      else if (job) void navigate({ to: "/jobs/$id", params: { id: job } });
    },
    [navigate],
  );
  useShownByBrowser(isOn, data?.items, words, open);
  const markRead = useMarkRead();
  const items = data?.items ?? [];
  const unread = data?.num_unread ?? 0;
  return (
    <div
      onClick={() => {
        if (unread > 0 && items[0]) markRead.mutate(items[0].id);
      }}
    >
      <Menu
        label={texts.title}
        className={styles.account}
        shown={
          <>
            <Icon name="bell" />
            <span>{texts.title}</span>
            {unread > 0 && <span className="badge plain">{texts.unread(unread)}</span>}
          </>
        }
      >
        {items.length ? (
          items.map((one) => <Entry key={one.id} notice={one} />)
        ) : (
          <div className="menu-head">{texts.none}</div>
        )}
        {canNotify() && (
          <>
            <hr />
            <MenuItem
              isChosen={isOn}
              onChoose={() => {
                void setIsOn(!isOn).then(complainOf);
              }}
            >
              {texts.byBrowser}
            </MenuItem>
          </>
        )}
      </Menu>
    </div>
  );
}

/** The run whose script said it. */
function runOf({ kind, details }: Notice): string | undefined {
  return kind === "run.alert" && typeof details.run === "string" ? details.run : undefined;
}

function nameOf({ kind, details, job_name }: Notice): string {
  return kind === "run.alert" ? String(details.run_name ?? "") : job_name;
}

/** Says that the browser does not allow it. */
function useRefused() {
  const { notices: texts } = useTexts();
  const { say } = useMessages();
  return {
    complainOf: (isAsWanted: boolean) => {
      if (!isAsWanted) say(texts.notAllowed);
    },
  };
}

function Entry(props: { notice: Notice }) {
  const { notices: texts } = useTexts();
  const { notice } = props;
  const what = notice.alert_kind ? (
    <AlertText kind={notice.alert_kind} details={notice.details} />
  ) : runOf(notice) ? (
    visibleLine(notice.message)
  ) : (
    texts.kinds[notice.kind]
  );
  const told = (
    <span className={styles.told}>
      <strong>{visibleLine(nameOf(notice) || texts.platform)}</strong>
      <span>{what}</span>
      <span className="faint small">
        <Ago at={notice.at} />
      </span>
    </span>
  );
  const run = runOf(notice);
  if (run)
    return (
      <Link to="/experiments/$id" params={{ id: run }}>
        {told}
      </Link>
    );
  if (!notice.job) return <div className="menu-head">{told}</div>;
  return (
    <Link to="/jobs/$id" params={{ id: notice.job }}>
      {told}
    </Link>
  );
}
