import { Link } from "@tanstack/react-router";
import { useMe } from "@/api/session";
import { buttonClass } from "@/parts/Button";
import { Empty } from "@/parts/Empty";
import { useTexts } from "@/texts/language";
import { MyInvitations } from "../projects/Invitations";

/** For users without a project to run jobs in: why, and what to do. */
export function NoProject() {
  const { submit: texts, admin } = useTexts();
  const me = useMe();
  return (
    <div className="page">
      <div className="page-head">
        <h1>{texts.title}</h1>
      </div>
      <MyInvitations />
      <div className="panel">
        <Empty
          icon="user"
          title={texts.noProjectTitle}
          actions={
            <Link to="/projects" className={buttonClass(me.is_admin ? "primary" : "normal")}>
              {me.is_admin ? admin.makeProject : admin.projectsTitle}
            </Link>
          }
        >
          <p>{me.is_admin ? texts.noProjectAdmin : texts.noProjectText(me.name)}</p>
        </Empty>
      </div>
    </div>
  );
}
