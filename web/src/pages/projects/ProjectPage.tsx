import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { projectQuery, useChangeProject, useDeleteProject } from "@/api/people";
import { useMe } from "@/api/session";
import { Button } from "@/parts/Button";
import { Description } from "@/parts/Description";
import { Confirm } from "@/parts/Dialog";
import { Loading, Problem } from "@/parts/Empty";
import { Facts } from "@/parts/Facts";
import { useMessages } from "@/parts/Messages";
import { Tabs } from "@/parts/Tabs";
import { Trail } from "@/parts/Trail";
import { useTexts } from "@/texts/language";
import { AuditTable } from "../admin/AuditTable";
import { MakeBucket } from "../store/MakeBucket";
import { bucketNameOf } from "./bucketName";
import { Members } from "./Members";
import { Quotas } from "./Quotas";

export function ProjectPage() {
  const { admin: texts } = useTexts();
  const { name } = useParams({ from: "/inside/projects/$name" });
  const { tab = "members" } = useSearch({ from: "/inside/projects/$name" });
  const { data: project, error, refetch } = useQuery(projectQuery(name));
  const me = useMe();
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!project) return <Loading lines={6} />;
  const isOwner = me.is_admin || project.role === "owner";
  return (
    <div className="page">
      <Trail above={[[texts.projectsTitle, { to: "/projects" }]]} here={project.name} />
      <div className="page-head">
        <h1>{project.name}</h1>
        {project.is_archived && <span className="tag">{texts.archived}</span>}
        {isOwner && <ProjectActions name={project.name} isArchived={project.is_archived} />}
      </div>
      <Description text={project.description} />
      <Facts
        items={[
          [texts.projectJobs, texts.jobs(project.num_jobs, project.num_open_jobs)],
          [
            texts.buckets,
            project.buckets.length ? (
              <span key="buckets" className="toolbar">
                {project.buckets.map((bucket) => (
                  <Link key={bucket} to="/store" search={{ bucket }}>
                    {bucket}
                  </Link>
                ))}
              </span>
            ) : (
              <NoBucket key="buckets" project={project.name} mayMake={isOwner} />
            ),
          ],
        ]}
      />
      <Tabs
        label={project.name}
        tabs={[
          ["members", texts.members],
          ["quotas", texts.quotas],
          ...(isOwner ? [["audit", texts.audit] as const] : []),
        ]}
        shown={tab}
      />
      {tab === "members" && <Members project={project} isOwner={isOwner} />}
      {tab === "quotas" && <Quotas project={project.name} isOwner={isOwner} />}
      {tab === "audit" && isOwner && <AuditTable project={project.name} />}
    </div>
  );
}

/** A project without a bucket cannot keep code or results: say so, and offer one. */
function NoBucket(props: { project: string; mayMake: boolean }) {
  const { store: texts } = useTexts();
  const [isMaking, setIsMaking] = useState(false);
  return (
    <span className="toolbar">
      <span className="bad-text">{texts.projectWithoutBucket}</span>
      {props.mayMake && (
        <Button
          isSmall
          icon="plus"
          onClick={() => {
            setIsMaking(true);
          }}
        >
          {texts.makeBucket}
        </Button>
      )}
      {isMaking && (
        <MakeBucket
          project={props.project}
          suggested={bucketNameOf(props.project)}
          onClose={() => {
            setIsMaking(false);
          }}
        />
      )}
    </span>
  );
}

function ProjectActions(props: { name: string; isArchived: boolean }) {
  const { admin: texts } = useTexts();
  const { say, complain } = useMessages();
  const navigate = useNavigate();
  const change = useChangeProject();
  const remove = useDeleteProject();
  const [isAsked, setIsAsked] = useState(false);
  return (
    <div className="actions">
      <Button
        isBusy={change.isPending}
        onClick={() => {
          change.mutate(
            { project: props.name, is_archived: !props.isArchived },
            {
              onSuccess: () => {
                say(texts.changed(props.name));
              },
              onError: complain,
            },
          );
        }}
      >
        {props.isArchived ? texts.unarchive : texts.archive}
      </Button>
      <Button
        icon="trash"
        onClick={() => {
          setIsAsked(true);
        }}
      >
        {texts.deleteProject}
      </Button>
      {isAsked && (
        <Confirm
          title={texts.deleteProjectTitle(props.name)}
          names={[props.name]}
          text={texts.deleteProjectText}
          action={texts.deleteProject}
          isDanger
          isBusy={remove.isPending}
          onClose={() => {
            setIsAsked(false);
          }}
          onConfirm={() => {
            remove.mutate(props.name, {
              onSuccess: () => {
                say(texts.projectDeleted(props.name));
                void navigate({ to: "/projects", search: {} });
              },
              onError: (error) => {
                setIsAsked(false);
                complain(error);
              },
            });
          }}
        />
      )}
    </div>
  );
}
