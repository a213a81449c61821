import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import { reportQuery, type BenchRun, type Report } from "@/api/bench";
import type { Schemas } from "@/api/client";
import type { ExampleRow } from "@/api/examples";
import { whyRefused } from "@/api/jobs";
import { deliveriesQuery } from "@/api/notices";
import { allPages } from "@/api/pages";
import type { Plan } from "@/api/plan";
import { problemOf } from "@/api/problem";
import { MessageArea } from "@/parts/Messages";
import { texts as en } from "@/texts/en";
import { Speaking } from "@/texts/language";
import { speak } from "@/texts/told";
import { texts as zh } from "@/texts/zh";
import { RunReport } from "./bench/RunReport";
import { Images } from "./cluster/ClusterPage";
import { Fitness } from "./examples/Fitness";
import { Deliveries } from "./profile/Deliveries";
import { PlanPanel } from "./submit/PlanPanel";

const KEPT = { defaultOptions: { queries: { staleTime: Infinity } } };

afterEach(() => {
  speak(en.messages);
  document.body.replaceChildren();
});

async function inChinese(children: ReactNode, client = new QueryClient(KEPT)): Promise<Element> {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const box = document.createElement("div");
  document.body.append(box);
  await act(async () => {
    createRoot(box).render(
      <QueryClientProvider client={client}>
        <Speaking language="zh" texts={zh}>
          <MessageArea>{children}</MessageArea>
        </Speaking>
      </QueryClientProvider>,
    );
    await Promise.resolve();
  });
  return document.body;
}

function said(code: string, params: Record<string, string> = {}): Schemas["Message"] {
  return { code, params };
}

test("what a variable of a plan holds", async () => {
  const about = { read_by: "", set_by: "" };
  const variables = {
    DANLU_RANK: { ...about, what: "which task of …", what_said: said("var_task_of_job") },
    OF_A_NEWER_SERVER: { ...about, what: "as it is" },
  };
  const plan = {
    notes: [],
    tasks: [{ command: ["true"], env: { DANLU_RANK: "0", OF_A_NEWER_SERVER: "1" }, files: {} }],
    explanation: { starts: [], succeeds: "", notes: [], tasks: [{ variables }] },
  } as unknown as Plan;
  const box = await inChinese(
    <PlanPanel plan={plan} isChecking={false} isBlank={false} spec={{}} />,
  );
  const titles = [...box.querySelectorAll("dl [title]")].map((one) => one.getAttribute("title"));
  expect(titles).toEqual(["任务中的第几个实例，从 0 开始", "as it is"]);
});

test("why a node runs no images", async () => {
  const box = await inChinese(
    <Images
      node={{
        image_tool: "",
        image_problem: "overlays cannot be mounted: EPERM",
        image_problem_said: said("no_overlays", { problem: "EPERM" }),
      }}
    />,
  );
  expect(box.querySelector("li")?.title).toBe("无法挂载 overlay：EPERM");
});

test("why a delivery failed", async () => {
  const client = new QueryClient(KEPT);
  const sent = { id: "d-1", kind: "job.failed", state: "failed", num_tries: 7, status: 500 };
  client.setQueryData(deliveriesQuery("wh-1").queryKey, [
    {
      ...sent,
      created_at: "2026-11-19T08:00:00Z",
      tried_at: null,
      next_at: null,
      problem: "a.example.com answered 500; expected 2xx",
      said: said("delivery_refused", { host: "a.example.com", status: "500" }),
    } as Schemas["DeliveryOut"],
  ]);
  const box = await inChinese(<Deliveries webhook="wh-1" onClose={() => undefined} />, client);
  expect(box.textContent).toContain("a.example.com 返回 500；应为 2xx");
});

test("why an example does not run here", async () => {
  const need = { kind: "software", name: "jax", is_met: false } as const;
  const images = "n1: its engine runs none; n2: there is no sandbox to run them in";
  const example = {
    is_job: true,
    needs: [
      { ...need, why: "…", said: said("nowhere_installed", { name: "jax" }) },
      { ...need, why: "…", said: said("nowhere_images", { images }) },
    ],
  } as unknown as ExampleRow;
  const box = await inChinese(<Fitness example={example} />);
  expect(box.querySelector(".badge")?.getAttribute("title")).toBe(
    "所有节点都没有安装 jax；没有节点可以运行镜像：n1：其引擎不支持镜像；n2：没有可运行镜像的沙箱",
  );
});

test("what is wrong with a benchmark", async () => {
  const client = new QueryClient(KEPT);
  const run: BenchRun = { id: "bench-1", suite: "memory", jobs: [] };
  const report: Report = {
    run: run.id,
    verdict: "failed",
    mode: "normal",
    problems: ["ranks 1, 2 left no result", "of an older report"],
    problems_said: [said("bench_no_result", { ranks: "ranks 1, 2" })],
    jobs: [],
    scaling: [],
  };
  client.setQueryData(reportQuery(run).queryKey, report);
  const box = await inChinese(<RunReport run={run} />, client);
  const told = [...box.querySelectorAll("li")].map((one) => one.textContent);
  expect(told).toEqual(["Rank 1、2 没有留下结果", "of an older report"]);
});

test("why jobs were left as they are", () => {
  speak(zh.messages);
  const refused = { "train-1": "train-1 is running; …", "train-2": "as it is" };
  const params = { job: "train-1", state: "running", same: "train-1" };
  const told = { "train-1": said("stop_first", params) };
  expect(whyRefused({ done: [], refused, refused_said: told })).toEqual([
    "train-1 的状态为“运行中”；请先停止：danlu stop train-1",
    "as it is",
  ]);
});

test("failures that the server has no words for", async () => {
  speak(zh.messages);
  const page = "<html>Bad Gateway</html>";
  const response = new Response(page, { status: 502, statusText: "Bad Gateway" });
  expect(problemOf(response, page).message).toBe("服务器返回状态 502。");
  const endless = allPages(() => Promise.resolve({ items: [], next: "more" }));
  await expect(endless).rejects.toThrow("列表超过 100 页。");
});
