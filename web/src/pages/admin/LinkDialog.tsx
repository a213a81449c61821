import { Button } from "@/parts/Button";
import { Code } from "@/parts/Code";
import { Dialog } from "@/parts/Dialog";
import { useTexts } from "@/texts/language";

/** A sign-in link. It is shown once. */
export function LinkDialog(props: { user: string; url: string; onClose: () => void }) {
  const { admin: texts, common } = useTexts();
  return (
    <Dialog title={texts.linkTitle(props.user)} onClose={props.onClose}>
      <p className="muted">{texts.linkText}</p>
      <Code text={props.url} isWrapped label={texts.linkTitle(props.user)} />
      <div className="actions">
        <Button kind="primary" onClick={props.onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  );
}
