import { useFavourites, useSetFavourite } from "@/api/favourites";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";
import { useMessages } from "./Messages";

/** Whether a job is a favourite, and the way to change that. */
export function Star(props: { job: string; name: string }) {
  const { jobs: texts } = useTexts();
  const { complain } = useMessages();
  const isOne = useFavourites().has(props.job);
  const change = useSetFavourite(props.job);
  return (
    <Button
      kind="plain"
      icon="star"
      isSmall
      label={isOne ? texts.unfavourite(props.name) : texts.favourite(props.name)}
      aria-pressed={isOne}
      isBusy={change.isPending}
      onClick={() => {
        change.mutate(!isOne, { onError: complain });
      }}
    />
  );
}
