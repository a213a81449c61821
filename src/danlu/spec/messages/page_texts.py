"""What single pages of the console tell: ends of runs, deliveries, examples that do not fit, reports of benchmarks."""

from __future__ import annotations

RUN_ENDS: dict[str, tuple[str, str]] = {
    "run_died": (
        "the process ended unexpectedly: it was killed, or its machine went down",
        "进程意外结束：被终止，或所在机器停机",
    ),
    "run_told_to_end": ("SIGTERM: the process was told to end", "收到终止信号（SIGTERM）"),
    "run_told_to_end_in": (
        "SIGTERM: the process was told to end, in {place}",
        "收到终止信号（SIGTERM），当时位于 {place}",
    ),
    "run_not_whole": (
        "the file of {tracker} ends without the end of the run",
        "{tracker} 的文件不完整，缺少运行的结尾",
    ),
}
"""Why a run ended, where its program said nothing itself."""

PAGE_TEXTS: dict[str, tuple[str, str]] = {
    **RUN_ENDS,
    "not_measured": ("was not measured", "没有测量"),
    # deliveries
    "delivery_unanswered": ("{host} did not answer: {problem}", "{host} 没有响应：{problem}"),
    "delivery_redirected": (
        "{host} answered {status}; redirects are not followed",
        "{host} 返回 {status}；不跟随重定向",
    ),
    "delivery_refused": ("{host} answered {status}; expected 2xx", "{host} 返回 {status}；应为 2xx"),
    "delivery_unknown": ("unknown error: {problem}", "未知错误：{problem}"),
    "no_mail": ("cannot create an e-mail: {problem}", "无法生成邮件：{problem}"),
    "mail_not_taken": ("{host} did not take it: {problem}", "{host} 未接收邮件：{problem}"),
    "of_url": ("url: {inner}", "网址：{inner}"),
    # what an example or a job lacks
    "nowhere_installed": ("{name} is not installed on any node", "所有节点都没有安装 {name}"),
    "nowhere_images": ("no node runs images: {images}", "没有节点可以运行镜像：{images}"),
    "image_unusable_here": ("{image} cannot be used: {images}", "无法使用镜像 {image}：{images}"),
}

BENCH_PROBLEMS: dict[str, tuple[str, str]] = {
    "bench_rank_killed": (
        "rank {rank} on {node} was killed by signal {number}",
        "{node} 上的 Rank {rank} 被信号 {number} 终止",
    ),
    "bench_rank_ended": (
        "rank {rank} on {node} ended with exit code {exit_code}",
        "{node} 上的 Rank {rank} 以退出码 {exit_code} 结束",
    ),
    "bench_failed_first": ("task {task}, {ranks}, failed first", "实例 {task}（{ranks}）最先失败"),
    "bench_no_result": ("{ranks} left no result", "{ranks} 没有留下结果"),
    "bench_strangers": (
        "expected {number} ranks, got a result of {ranks}",
        "应有 {number} 个 Rank，却收到 {ranks} 的结果",
    ),
    "bench_unmeasured": ("rank {rank} did not measure {name}", "Rank {rank} 没有测量 {name}"),
    "bench_no_number": (
        "rank {rank}: {name}: expected a number, got {value}",
        "Rank {rank}：{name}：应为数字，实际为 {value}",
    ),
    "bench_unreadable": (
        "rank {rank}: its result cannot be read: {problem}",
        "Rank {rank}：无法读取其结果：{problem}",
    ),
    "bench_other_rank": (
        "rank {rank}: its result says that it is rank {number}",
        "Rank {rank}：其结果中写的是 Rank {number}",
    ),
    "bench_criterion": ("{name} on {count} nodes: {inner}", "{count} 个节点上的 {name}：{inner}"),
    "bench_job_because": ("{job} {state}: {inner}", "任务 {job} {state}：{inner}"),
    "bench_job": ("{job} {state}", "任务 {job} {state}"),
}
"""They are looked for in reports only, one after the other: the last ones would fit other texts as well."""
