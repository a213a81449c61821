import { EMPTY, type Form } from "./form";

export type Template = "command" | "ddp" | "ascend" | "mpi" | "tione" | "apulis" | "modelarts";

/** Places to begin. Each is a job that runs as it is, once its command is one that is there. */
export const TEMPLATES: Record<Template, Partial<Form>> = {
  command: { name: "hello", command: "echo hello from $(hostname)" },
  ddp: {
    name: "ddp",
    kind: "distributed",
    nodes: "2",
    launch: "ddp",
    command:
      'python3 -c \'import os; print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])\'',
  },
  ascend: {
    name: "npu",
    device: "npu:910b",
    count: "1",
    launch: "ascend",
    command: "cat $RANK_TABLE_FILE",
  },
  mpi: {
    name: "mpi",
    kind: "distributed",
    nodes: "2",
    launch: "mpi",
    command: "mpirun hostname",
  },
  tione: {
    name: "tione",
    kind: "distributed",
    nodes: "2",
    launch: "ddp",
    contract: "tione",
    command: "sh start_cloud.sh",
  },
  apulis: {
    name: "apulis",
    device: "npu:910",
    count: "2",
    launch: "ascend",
    contract: "apulis",
    command: "sudo -E bash -c 'source /pod.env && env | grep DLWS_'",
  },
  modelarts: {
    name: "modelarts",
    device: "npu:910",
    count: "8",
    launch: "ascend",
    processes: "per_device",
    contract: "modelarts",
    command: "python3 train.py",
  },
};

export function fromTemplate(name: Template | undefined, before: Form): Form {
  const template = name && TEMPLATES[name];
  // a template with devices of its own is not what a flavor stands for
  const flavor = template?.device ? "" : before.flavor;
  return { ...EMPTY, project: before.project, flavor, ...template };
}
