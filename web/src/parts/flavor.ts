import type { Flavor } from "@/api/flavors";
import { showBytes, showNumber } from "./numbers";

/** What a node of a flavor has: `npu:910b:2, 4 CPU, 8.0 GB`. */
export function shapeOf(flavor: Flavor): string {
  return [
    flavor.device,
    flavor.cpus != null ? `${showNumber(flavor.cpus)} CPU` : "",
    flavor.memory != null ? showBytes(flavor.memory) : "",
  ]
    .filter(Boolean)
    .join(", ");
}
