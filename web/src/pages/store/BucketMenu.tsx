import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useDeleteBucket } from "@/api/store";
import { Confirm } from "@/parts/Dialog";
import { Menu, MenuItem } from "@/parts/Menu";
import { useMessages } from "@/parts/Messages";
import { useTexts } from "@/texts/language";

/** What is seldom done with a bucket. */
export function BucketMenu(props: { bucket: string }) {
  const { store: texts, common } = useTexts();
  const { say, complain } = useMessages();
  const navigate = useNavigate();
  const remove = useDeleteBucket();
  const [isAsked, setIsAsked] = useState(false);
  const close = () => {
    setIsAsked(false);
  };
  return (
    <>
      <Menu label={common.more} icon="more">
        <MenuItem
          icon="trash"
          isDanger
          onChoose={() => {
            setIsAsked(true);
          }}
        >
          {texts.deleteBucket}
        </MenuItem>
      </Menu>
      {isAsked && (
        <Confirm
          title={texts.deleteBucketTitle(props.bucket)}
          names={[props.bucket]}
          text={texts.deleteBucketText}
          action={common.delete}
          isDanger
          isBusy={remove.isPending}
          onClose={close}
          onConfirm={() => {
            remove.mutate(props.bucket, {
              onSuccess: () => {
                say(texts.bucketDeleted(props.bucket));
                void navigate({ to: "/store", search: {} });
              },
              onError: (error) => {
                close();
                complain(error);
              },
            });
          }}
        />
      )}
    </>
  );
}
