import type { Same } from "../shape";
import type { flow as en } from "../en/flow";

export const flow: Same<typeof en> = {
  title: "数据血缘",
  direction: "方向",
  both: "双向",
  up: "上游",
  down: "下游",
  depth: "深度",
  hidden: "您无权查看",
  deleted: "已删除",
  center: (name) => `以 ${name} 为中心`,
  open: (name) => `打开 ${name}`,
  shown: (count) => `${String(count)} 项`,
  alone: "还没有相关联的内容",
  aloneText: "任务读取的数据、写出的结果、运行使用或产生的制品以及模型都会自动显示在这里。",
  kinds: {
    run: "运行",
    artifact: "制品",
    job: "任务",
    store: "存储",
    code: "代码",
    model: "模型",
  },
  relations: {
    input: "输入",
    output: "输出",
    data: "数据",
    code: "代码",
    made: "创建",
    registered: "注册",
    part: "部分",
  },
  graph: "图",
};
