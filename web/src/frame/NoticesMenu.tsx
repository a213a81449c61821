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
      title: visibleLine(notice.job_name || texts.platform),
      body: texts.kinds[notice.kind],
    }),
    [texts],
  );
  const open = useCallback(
    ({ job }: Notice) => {
      if (job) void navigate({ to: "/jobs/$id", params: { id: job } });
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
  ) : (
    texts.kinds[notice.kind]
  );
  const told = (
    <span className={styles.told}>
      <strong>{notice.job ? notice.job_name : texts.platform}</strong>
      <span>{what}</span>
      <span className="faint small">
        <Ago at={notice.at} />
      </span>
    </span>
  );
  if (!notice.job) return <div className="menu-head">{told}</div>;
  return (
    <Link to="/jobs/$id" params={{ id: notice.job }}>
      {told}
    </Link>
  );
}
