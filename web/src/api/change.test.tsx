import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, useState } from "react";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import { MessageArea, useMessages } from "@/parts/Messages";
import { texts } from "@/texts/en";
import { Speaking } from "@/texts/language";
import { useMutation } from "./change";

let answer: (isDone: boolean) => void = () => undefined;

/** Asks for a change, and is gone before the answer is there: as a row is that is moved elsewhere. */
function Row(props: { onAsked: () => void }) {
  const { say, complain } = useMessages();
  const change = useMutation({
    mutationFn: () =>
      new Promise<void>((done, fail) => {
        answer = (isDone) => {
          if (isDone) done();
          else fail(new Error("it was refused"));
        };
      }),
  });
  return (
    <button
      onClick={() => {
        change.mutate(undefined, {
          onSuccess: () => {
            say("Moved", () => undefined);
          },
          onError: complain,
        });
        props.onAsked();
      }}
    >
      Move
    </button>
  );
}

function Page() {
  const [isThere, setIsThere] = useState(true);
  const { say } = useMessages();
  return (
    <>
      {isThere && (
        <Row
          onAsked={() => {
            setIsThere(false);
          }}
        />
      )}
      <button
        onClick={() => {
          say("Other news");
        }}
      >
        Say
      </button>
    </>
  );
}

async function shown(): Promise<HTMLElement> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const box = document.createElement("div");
  document.body.append(box);
  await act(async () => {
    createRoot(box).render(
      <QueryClientProvider client={new QueryClient()}>
        <Speaking language="en" texts={texts}>
          <MessageArea>
            <Page />
          </MessageArea>
        </Speaking>
      </QueryClientProvider>,
    );
    await Promise.resolve();
  });
  return box;
}

const click = (box: HTMLElement, name: string) =>
  act(async () => {
    [...box.querySelectorAll("button")].find((one) => one.textContent === name)?.click();
    await Promise.resolve();
  });

test("an undo is offered, although what asked for the change is gone", async () => {
  const box = await shown();
  await click(box, "Move");
  expect(box.textContent).not.toContain("Move");
  await act(async () => {
    answer(true);
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(box.querySelector(".message")?.textContent).toContain("Moved");
  for (let news = 0; news < 6; news++) await click(box, "Say");
  expect(box.querySelectorAll(".message")).toHaveLength(5);
  expect(box.textContent).toContain("Undo");
});

test("a refusal is told, too", async () => {
  const box = await shown();
  await click(box, "Move");
  await act(async () => {
    answer(false);
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(box.querySelector(".message.bad")?.textContent).toContain("it was refused");
});
