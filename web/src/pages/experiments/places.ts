import { useState } from "react";

type Places = ReadonlyMap<string, number>;

/** A number for each of some ids: it stays the same while others come and go, so that a run keeps its colour. */
export function usePlaces(ids: readonly string[]): Places {
  const [before, setPlaces] = useState<Places>(new Map());
  const places = placesOf(before, ids);
  if (places !== before) setPlaces(places);
  return places;
}

/** New ids get the lowest numbers that are free. */
export function placesOf(before: Places, ids: readonly string[]): Places {
  if (ids.length === before.size && ids.every((id) => before.has(id))) return before;
  const places = new Map<string, number>();
  for (const id of ids) {
    const known = before.get(id);
    if (known !== undefined) places.set(id, known);
  }
  const taken = new Set(places.values());
  let next = 0;
  for (const id of ids) {
    if (places.has(id)) continue;
    while (taken.has(next)) next++;
    taken.add(next);
    places.set(id, next);
  }
  return places;
}
