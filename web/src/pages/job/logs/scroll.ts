// Where one is in a log that is taller than what browsers can scroll: Chromium ends at 33 million pixels, Firefox at 17.
// The box scrolls over a shorter height; small steps move by as much as they say, long ones by proportion.
const MOST_PX = 8_000_000;

/** `top` is the place in the log, `real` what the box says, both in pixels. */
export type Position = { top: number; real: number };
export type Room = { height: number; view: number };

export function realHeight(height: number): number {
  return Math.min(height, MOST_PX);
}

/** The position of a place in the log. */
export function positionOf(top: number, room: Room): Position {
  const place = Math.max(0, Math.min(top, room.height - room.view));
  if (room.height <= MOST_PX) return { top: place, real: place };
  return { top: place, real: (place * (MOST_PX - room.view)) / (room.height - room.view) };
}

/** The position after the box was scrolled to `real`. */
export function scrolledTo(real: number, before: Position, room: Room): Position {
  if (room.height <= MOST_PX) return { top: real, real };
  const step = real - before.real;
  const thumbStep = MOST_PX / room.view; // the scroll bar moves by no less; wheels and keys do
  const top =
    Math.abs(step) < thumbStep / 2
      ? before.top + step
      : (real * (room.height - room.view)) / (MOST_PX - room.view);
  return { top: Math.max(0, Math.min(top, room.height - room.view)), real };
}
