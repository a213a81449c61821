import { expect, test } from "vitest";
import type { Schemas } from "@/api/client";
import { EMPTY, formOf, formOfSpec, specOf } from "./form";
import { wrongOf } from "./wrong";

test("a filled form says what it means, and no more", () => {
  const form = {
    ...EMPTY,
    name: "mnist",
    command: "python train.py",
    kind: "distributed" as const,
    launch: "ddp",
    nodes: "4",
    device: "npu:910b",
    count: "8",
    data: [{ key: "store://main/mnist", value: "mnist" }],
    hyperparameters: [
      { key: "lr", value: "0.1" },
      { key: "model", value: "resnet50" },
    ],
  };
  expect(specOf(form)).toEqual({
    name: "mnist",
    command: "python train.py",
    launch: "ddp",
    nodes: 4,
    resources: { device: "npu:910b:8" },
    preemptible: false,
    data: { "store://main/mnist": "mnist" },
    hyperparameters: { lr: 0.1, model: "resnet50" },
  });
});

test("a job that was submitted fills the form with itself", () => {
  const form = { ...EMPTY, name: "a", command: "b", project: "default", retries: "3", cpus: "2" };
  const spec = { ...specOf(form), resources: { device: "cpu:1", cpus: 2 } };
  const job = { name: "a", project: "default", spec } as unknown as Schemas["JobOut"];
  expect(formOf(job)).toEqual(form);
});

test("packages are a file of the code or a list", () => {
  const form = { ...EMPTY, name: "a", command: "b", requirements: "requirements.txt" };
  expect(specOf(form).requirements).toBe("requirements.txt");
  const listed = { ...form, requirements: " torch==2.8.0\n\nnumpy" };
  expect(specOf(listed).requirements).toEqual(["torch==2.8.0", "numpy"]);
  expect(formOfSpec(specOf(listed)).requirements).toBe("torch==2.8.0\nnumpy");
  expect(wrongOf({ requirements: "expected a file" }).fields.requirements).toBe("expected a file");
});

test("endpoints go there and back", () => {
  const form = { ...EMPTY, name: "a", command: "b", ssh: true, jupyter: true, ports: "8080, 9090" };
  const spec = specOf(form);
  expect(spec.endpoints).toEqual(["ssh", "jupyter", "8080", "9090"]);
  expect(formOfSpec(spec)).toMatchObject({
    ssh: true,
    jupyter: true,
    tensorboard: false,
    ports: "8080 9090",
  });
  expect(wrongOf({ "endpoints.1": "expected a port" }).fields.ports).toBe("1: expected a port");
});

test("names stand for the shape and the image, in a clone as well", () => {
  const form = {
    ...EMPTY,
    name: "a",
    command: "b",
    flavor: "npu-2",
    framework: "torch",
    cpus: "9",
  };
  const spec = specOf({ ...form, image: "left:over" });
  expect(spec).toMatchObject({ flavor: "npu-2", framework: "torch" });
  expect(spec).not.toHaveProperty("resources");
  expect(spec).not.toHaveProperty("image");
  const resources = { device: "npu:910b:2", cpus: 4, memory: 8 };
  const stored = { ...spec, image: null, resources };
  const job = { name: "a", project: "default", spec: stored } as unknown as Schemas["JobOut"];
  expect(specOf(formOf(job) ?? EMPTY)).toEqual({ ...spec, project: "default" });
});

test("roles go there and back, with what the form does not show of them", () => {
  const spec = {
    name: "ps",
    launch: "ps_worker",
    success: "worker",
    grace: 60,
    preemptible: false,
    roles: {
      worker: {
        command: "python train.py",
        count: 3,
        resources: { device: "npu:910b:2", cpus: 4 },
      },
      ps: { command: "python train.py", count: 2, resources: { device: "cpu:1" }, env: { A: "1" } },
    },
  };
  const form = formOfSpec(spec);
  expect(form.kind).toBe("roles");
  expect(form.roles.map((role) => [role.name, role.count, role.device, role.devices])).toEqual([
    ["worker", "3", "npu:910b", "2"],
    ["ps", "2", "cpu", "1"],
  ]);
  expect(specOf(form)).toEqual(spec);
});

test("a field that the form does not show is kept", () => {
  const form = formOfSpec({
    name: "a",
    command: "b",
    processes: "per_device",
    launch: "ascend",
    grace: "20s",
  });
  expect(specOf(form)).toMatchObject({ processes: "per_device", grace: "20s" });
});

test("a role that names a flavor keeps it in a clone", () => {
  const roles = { ps: { command: "x", count: 2, flavor: "small", resources: { device: "cpu:1" } } };
  const job = { name: "a", project: "p", spec: { roles } } as unknown as Schemas["JobOut"];
  expect(specOf(formOf(job))).toMatchObject({ roles: { ps: { count: 2, flavor: "small" } } });
  expect(JSON.stringify(specOf(formOf(job)))).not.toContain("resources");
});

test("what the server says lands at the field that it means", () => {
  const wrong = wrongOf({
    "resources.device": "3 NPUs",
    "env.9A": "not a name",
    "": "odd",
    "roles.ps.command": "missing",
  });
  expect(wrong.fields).toEqual({
    count: "3 NPUs",
    env: "9A: not a name",
    roles: "ps.command: missing",
  });
  expect(wrong.roles).toEqual({ "ps.command": "missing" });
  expect(wrong.rest).toHaveLength(1);
});
