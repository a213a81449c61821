import { expect, test } from "vitest";
import { placeIn } from "./StoreLink";

test("folders, files and buckets have a place in the store", () => {
  expect(placeIn("store://main")).toEqual({ bucket: "main" });
  expect(placeIn("store://main/jobs/train-1")).toEqual({ bucket: "main", path: "jobs/train-1/" });
  expect(placeIn("store://main/a/b.tar.gz")).toEqual({
    bucket: "main",
    path: "a/",
    file: "a/b.tar.gz",
  });
  expect(placeIn("/data")).toBeUndefined();
});
