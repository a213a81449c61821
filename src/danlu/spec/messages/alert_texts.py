"""What alerts tell, in English and Chinese. `{time…}` is a duration."""

from __future__ import annotations

ALERT_TEXTS: dict[str, tuple[str, str]] = {
    "alert_device_idle": (
        "the {num_devices} devices of rank {rank} have done nothing for {time_idle}",
        "Rank {rank} 的 {num_devices} 个设备已空闲 {time_idle}",
    ),
    "alert_memory_high": (
        "rank {rank} uses {used_bytes} of its {limit_bytes} of memory",
        "Rank {rank} 已使用内存 {used_bytes}，上限为 {limit_bytes}",
    ),
    "alert_silent": (
        "no log and no metric for {time_silent}; rank {rank} was the first to go silent",
        "已有 {time_silent}没有日志和指标，最先停止输出的是 Rank {rank}",
    ),
    "alert_ends_idle": (
        "idle for {time_idle}; it will be stopped in {time_left} unless it is used",
        "已空闲 {time_idle}，如仍无人使用，将在 {time_left}后结束",
    ),
    "alert_loss_not_finite": (
        "{metric} of run {run} is {value} at step {step}",
        "运行 {run} 的 {metric} 在第 {step} 步的值为 {value}",
    ),
    "alert_disk_full_soon": (
        "{free_bytes} of {total_bytes} are left on the disk of {folder}",
        "{folder} 所在磁盘共 {total_bytes}，仅剩 {free_bytes}",
    ),
}
