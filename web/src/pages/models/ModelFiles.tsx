import { useInfiniteQuery } from "@tanstack/react-query";
import { folderQuery, objectAddress } from "@/api/store";
import { buttonClass } from "@/parts/Button";
import { Found, More } from "@/parts/Found";
import { Icon } from "@/parts/Icon";
import { showBytes } from "@/parts/numbers";
import { fileName } from "@/parts/saving";
import { placeIn, StoreLink } from "@/parts/StoreLink";
import { useTexts } from "@/texts/language";
import styles from "./models.module.css";

/** The files of a version that lie in the store, each to be saved with a click. */
export function ModelFiles(props: { path: string }) {
  const place = placeIn(props.path);
  const { models: texts, store } = useTexts();
  const bucket = place?.bucket ?? "";
  const prefix = place?.file ?? place?.path ?? "";
  const found = useInfiniteQuery({ ...folderQuery(bucket, prefix), enabled: place !== undefined });
  if (!place) return null;
  return (
    <section className="panel" aria-label={texts.files}>
      <div className="panel-head">
        <h2>{texts.files}</h2>
      </div>
      <Found of={found} lines={3}>
        {({ pages }) => (
          <ul className={`panel-body ${styles.files ?? ""}`}>
            {pages
              .flatMap((page) => page.folders)
              .map((folder) => (
                <li key={folder}>
                  <Icon name="folder" />
                  <StoreLink path={`store://${bucket}/${folder}`} />
                </li>
              ))}
            {pages
              .flatMap((page) => page.objects)
              .map(({ key, size }) => (
                <li key={key}>
                  <Icon name="file" />
                  <span className="wrap">{key.slice(prefix.lastIndexOf("/") + 1)}</span>
                  <span className="faint number">{showBytes(size)}</span>
                  <a
                    href={objectAddress(bucket, key)}
                    download={fileName(key)}
                    className={buttonClass("plain", { isSmall: true })}
                    aria-label={`${store.download} ${fileName(key)}`}
                  >
                    <Icon name="download" />
                    {store.download}
                  </a>
                </li>
              ))}
          </ul>
        )}
      </Found>
      <More of={found} isSmall />
    </section>
  );
}
