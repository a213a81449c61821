import { expect, test } from "vitest";
import { headline } from "./headline";

const of = (...names: string[]) =>
  headline(
    names.map((name) => ({ type: name.split(":")[0] ?? "", name: name.split(":")[1] ?? "" })),
  );

test("the loss of training comes first, then any loss, then what there is", () => {
  expect(of("train:accuracy", "val:loss", "train:loss")).toEqual({ type: "train", name: "loss" });
  expect(of("eval:bleu", "eval:aux_loss_scale", "eval:loss")).toEqual({
    type: "eval",
    name: "loss",
  });
  expect(of("x:layer10", "x:layer2")).toEqual({ type: "x", name: "layer2" });
});

test("what the machine measured is no headline", () => {
  expect(of("system:cpu")).toBeUndefined();
});
