import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { useTexts } from "@/texts/language";
import { Button } from "./Button";

const SHOWN_MS = 6_000;
const UNDO_MS = 60_000; // long enough for who reads first

const MOST_BEFORE = 3;

type Message = { id: number; text: string; isBad: boolean; undo?: (() => void) | undefined };
type Say = {
  /** With `undo`, what was done can be taken back for as long as the message is shown. */
  say: (text: string, undo?: () => void) => void;
  complain: (error: unknown) => void;
};

const Messages = createContext<Say | null>(null);
let next = 0;

/** Short words in the corner about what was just done. */
export function MessageArea(props: { children: ReactNode }) {
  const { common } = useTexts();
  const [messages, setMessages] = useState<Message[]>([]);
  const drop = useCallback((id: number) => {
    setMessages((before) => before.filter((message) => message.id !== id));
  }, []);
  const add = useCallback(
    (text: string, isBad: boolean, undo?: () => void) => {
      const id = ++next;
      setMessages((before) => [...withRoom(before), { id, text, isBad, undo }]);
      if (!isBad)
        setTimeout(
          () => {
            drop(id);
          },
          undo ? UNDO_MS : SHOWN_MS,
        );
    },
    [drop],
  );
  const value = useMemo<Say>(
    () => ({
      say: (text, undo) => {
        add(text, false, undo);
      },
      complain: (error) => {
        const problem = asProblem(error);
        add(problem.status === 0 ? common.unreachableTitle : problem.message, true);
      },
    }),
    [add, common],
  );
  return (
    <Messages value={value}>
      {props.children}
      <div className="messages" role="status" aria-live="polite">
        {messages.map((message) => (
          <div key={message.id} className={message.isBad ? "message bad" : "message"}>
            <p>{message.text}</p>
            {message.undo && (
              <Button
                isSmall
                onClick={() => {
                  message.undo?.();
                  drop(message.id);
                }}
              >
                {common.undo}
              </Button>
            )}
            <Button
              kind="plain"
              isSmall
              icon="close"
              label={common.close}
              onClick={() => {
                drop(message.id);
              }}
            />
          </div>
        ))}
      </div>
    </Messages>
  );
}

/** The newest of them, and all that offer an undo. */
function withRoom(messages: readonly Message[]): Message[] {
  const newest = messages.slice(-MOST_BEFORE);
  return messages.filter((message) => message.undo !== undefined || newest.includes(message));
}

export function useMessages(): Say {
  const say = use(Messages);
  if (!say) throw new Error("no message area here");
  return say;
}
