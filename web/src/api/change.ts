// Changes that the server is asked for.
import {
  useMutation as useTheirMutation,
  type DefaultError,
  type UseMutationOptions,
  type UseMutationResult,
} from "@tanstack/react-query";
import { useCallback } from "react";

type Result<Data, Failure, Asked> = Omit<UseMutationResult<Data, Failure, Asked>, "mutate"> & {
  mutate: (asked: Asked, then?: FollowedBy<Data, Failure>) => void;
};
type FollowedBy<Data, Failure> = {
  onSuccess?: ((data: Data) => void) | undefined;
  onError?: ((error: Failure) => void) | undefined;
  onSettled?: (() => void) | undefined;
};

/** As TanStack's, but for `mutate`: what is to follow a change follows it also when the part of the page that asked for
 * it is gone by then, as a row is that was moved. An undo is offered however fast a page changes. */
export function useMutation<Data = unknown, Failure = DefaultError, Asked = void>(
  options: UseMutationOptions<Data, Failure, Asked>,
): Result<Data, Failure, Asked> {
  const found = useTheirMutation(options);
  const { mutateAsync } = found;
  const mutate = useCallback(
    (asked: Asked, then: FollowedBy<Data, Failure> = {}) => {
      mutateAsync(asked)
        .then(then.onSuccess, then.onError ?? ignored)
        .finally(then.onSettled)
        .catch(thrown);
    },
    [mutateAsync],
  );
  return { ...found, mutate };
}

/** It is in the result's `error`, which the page shows. */
function ignored(): void {
  return undefined;
}

/** What a callback throws is a mistake of ours, and is told as every other one. */
function thrown(error: unknown): void {
  reportError(error);
}
