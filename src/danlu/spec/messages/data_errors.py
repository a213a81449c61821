"""Failures about data, told outside of fields: store, runs, artifacts and models."""

from __future__ import annotations

DATA_ERRORS: dict[str, tuple[str, str]] = {
    # store
    "no_bucket": ("no bucket {name}; `danlu store ls` shows yours", "没有存储桶 {name}；可用 `danlu store ls` 查看"),
    "no_such_bucket": ("no bucket {name}", "没有存储桶 {name}"),
    "bucket_exists": ("bucket {name} exists already; choose another name", "存储桶 {name} 已存在；请另选名称"),
    "bucket_not_empty": (
        "bucket {name} is not empty; list its objects: danlu store ls store://{same}/",
        "存储桶 {name} 不为空；查看内容：danlu store ls store://{same}/",
    ),
    "bucket_written": (
        "active jobs write to bucket {name}: {jobs}; stop them first",
        "进行中的任务正在写入存储桶 {name}：{jobs}；请先停止",
    ),
    "bucket_new": (
        "bucket {name} was created again a moment ago; check it and try again",
        "存储桶 {name} 刚刚被重新创建；请检查后重试",
    ),
    "bucket_made_again": (
        "bucket {name} was deleted and created again meanwhile; nothing was stored",
        "存储桶 {name} 已被删除并重新创建；未存储任何内容",
    ),
    "bucket_for_owners": (
        "bucket {name} is moved and deleted by owners of its project and by admins",
        "存储桶 {name} 只能由项目所有者和管理员移动或删除",
    ),
    "bucket_move": (
        "only owners of project {project} and admins may move a bucket there",
        "只有项目 {project} 的所有者和管理员可以将存储桶移到该项目",
    ),
    "no_object": ("no object {path}", "没有对象 {path}"),
    "path_is_folder": (
        "{path} is a folder that contains objects; choose another key",
        "{path} 是包含对象的文件夹；请另选路径",
    ),
    "checksum": (
        "{path}: expected sha256 {announced}, got {digest}; send it again",
        "{path}：sha256 应为 {announced}，实际为 {digest}；请重新发送",
    ),
    "disk_full": (
        "the store's disk is full: {path} was not stored; free space and send it again",
        "存储磁盘已满：{path} 未存储；请清理空间后重新发送",
    ),
    "disk_full_upload": (
        "the store's disk is full; free space and resume the upload",
        "存储磁盘已满；请清理空间后继续上传",
    ),
    "object_service": ("{path}: the object service failed: {told}", "{path}：对象存储服务出错：{told}"),
    "object_service_away": (
        "the object service at {place} does not answer: {told}",
        "无法连接位于 {place} 的对象存储服务：{told}",
    ),
    "replaced_while_read": (
        "{path} was replaced while it was read; read it again",
        "{path} 在读取时被替换；请重新读取",
    ),
    "no_upload": ("no upload {id} of yours; it may be finished", "您没有上传 {id}；可能已完成"),
    "no_upload_again": ("no upload {id} of yours; begin it again", "您没有上传 {id}；请重新开始"),
    "upload_too_long": ("more than the announced {bytes} bytes arrived", "收到的数据超过声明的 {bytes} 字节"),
    "upload_offset": (
        "{arrived} bytes have arrived; continue from there, not from {offset}",
        "已收到 {arrived} 字节；请从该处继续，而不是从 {offset}",
    ),
    "upload_unfinished": (
        "{arrived} of {size} bytes have arrived; continue from there",
        "已收到 {size} 字节中的 {arrived} 字节；请从该处继续",
    ),
    "no_tree": ("no tree {digest}", "没有代码目录 {digest}"),
    "tree_cleaned": (
        "{count} files of the tree were removed by clean-up meanwhile; send it again",
        "代码目录中有 {count} 个文件已被清理；请重新发送",
    ),
    "pack_cleaned": (
        "the upload took longer than a day, and clean-up removed its bytes; send them again",
        "上传时间超过一天，其数据已被清理；请重新发送",
    ),
    "range_beyond": (
        "range {range} is beyond the object's {bytes} bytes",
        "范围 {range} 超出对象的 {bytes} 字节",
    ),
    # runs
    "run_id_taken": ("the id {id} is taken by another run; use a new id", "编号 {id} 已被占用；请使用新的编号"),
    "run_of_others": (
        "{run} is the run of another user; nothing was added to it",
        "{run} 是其他用户的运行；未添加任何内容",
    ),
    "run_has_no": ("{run} has no {name}", "{run} 没有 {name}"),
    "no_run": ("no run {id}; `danlu runs ls` lists them", "没有运行 {id}；可用 `danlu runs ls` 查看"),
    "several_runs": (
        "several runs have ids that begin with {prefix}; give more of it",
        "有多个运行的编号以 {prefix} 开头；请多写几位",
    ),
    "not_in_trash": (
        "{id} is not in the trash; delete it first, then permanently",
        "{id} 不在回收站中；请先删除，再彻底删除",
    ),
    "run_exists": ("{folder} has a run named {name} already: {id}", "{folder} 中已有名为 {name} 的运行：{id}"),
    "folder_exists": ("there is a folder {name} already", "文件夹 {name} 已存在"),
    "no_folder": ("no folder {name}", "没有文件夹 {name}"),
    "folder_of_others": (
        "{folder} holds runs of others; an owner of the project may change it",
        "{folder} 中有其他用户的运行；项目所有者可以修改",
    ),
    "media_no_page": (
        "media: expected HTML or a figure of Plotly, got {kind}; GET .../{id} has it",
        "media：应为 HTML 或 Plotly 图表，实际为 {kind}；可用 GET .../{id} 获取",
    ),
    "parquet": (
        "Parquet needs pyarrow on the server: pip install 'danlu[parquet]', or use format=csv",
        "导出 Parquet 需要在服务器上安装 pyarrow：pip install 'danlu[parquet]'；导出 CSV 则不需要",
    ),
    # artifacts and models
    "no_artifact": (
        "no artifact {name}; `danlu artifacts list` shows yours",
        "没有制品 {name}；可用 `danlu artifacts list` 查看",
    ),
    "no_artifact_version": (
        "no version {name}; `danlu artifacts versions {same}` lists them",
        "没有版本 {name}；可用 `danlu artifacts versions {same}` 查看",
    ),
    "several_artifacts": (
        "several artifacts have ids that begin with {prefix}; give more of it",
        "有多个制品的编号以 {prefix} 开头；请多写几位",
    ),
    "artifact_exists": (
        "there is an artifact {name} already; give it another name, or make it a version of it",
        "制品 {name} 已存在；请另取名称，或作为它的新版本",
    ),
    "artifact_in_projects": ("{name} is in {projects}; name the project", "{name} 存在于 {projects}；请指明项目"),
    "artifact_of_model": (
        "{name} has the files of model {model}; delete that first, or keep both",
        "{name} 包含模型 {model} 的文件；请先删除该模型，或同时保留",
    ),
    "artifact_new_version": (
        "{name} got another version meanwhile; delete it again",
        "{name} 刚刚有了新版本；请重新删除",
    ),
    "chunks_missing": (
        "{missing} of {count} chunks have not arrived, such as {digest}; list the missing chunks and send them",
        "{count} 个分块中有 {missing} 个未到达，例如 {digest}；请查询并发送缺少的分块",
    ),
    "no_chunk": ("no chunk {digest} of {version}", "{version} 没有分块 {digest}"),
    "chunk_unreadable": (
        "the chunk {digest} of {version} cannot be read; report it to an admin",
        "无法读取 {version} 的分块 {digest}；请联系服务器管理员",
    ),
    "bytes_damaged": (
        "the stored bytes of {digest} are damaged; report it to an admin",
        "{digest} 的存储内容已损坏；请联系服务器管理员",
    ),
    "output_gone": (
        "job: the output of {job} is gone: bucket {bucket} was deleted",
        "任务 {job} 的结果已不存在：存储桶 {bucket} 已删除",
    ),
    "files_gone": (
        "its files are gone: bucket {bucket} was deleted",
        "文件已不存在：存储桶 {bucket} 已删除",
    ),
    "no_model": ("no model {name}; `danlu models list` shows yours", "没有模型 {name}；可用 `danlu models list` 查看"),
    "no_model_version": (
        "no version {name}; `danlu models versions {same}` lists them",
        "没有版本 {name}；可用 `danlu models versions {same}` 查看",
    ),
    "no_model_version_id": (
        "no model version {id}; `danlu models list` shows yours",
        "没有模型版本 {id}；可用 `danlu models list` 查看",
    ),
    "several_models": (
        "there are several models {name}: {told}; name the project",
        "有多个名为 {name} 的模型：{told}；请指明项目",
    ),
    "no_alias": ("{model} has no alias {alias}", "{model} 没有别名 {alias}"),
    "no_files_any_more": (
        "{name} has no files any more: {told}; delete it without files",
        "{name} 的文件已不存在：{told}；请在不删除文件的情况下删除它",
    ),
    "no_own_files": (
        "{name} has no files of its own: they are those of {where}; delete it without files",
        "{name} 没有自己的文件，使用的是 {where} 的文件；请在不删除文件的情况下删除它",
    ),
    "files_shared": (
        "the files of {name} are those of {other} as well; delete {same} first, or keep files",
        "{name} 与 {other} 使用相同的文件；请先删除 {same}，或保留文件",
    ),
    "nothing_stored": (
        "nothing is stored at {path}; there is no model to register",
        "{path} 处没有内容；没有可注册的模型",
    ),
    "too_many_files": (
        "{path} has more than {count} files; register the folder of the model itself",
        "{path} 中的文件超过 {count} 个；请注册模型自身的文件夹",
    ),
    "cannot_copy": (
        "the artifact refers to {uri}, which is elsewhere and cannot be copied; register it without a copy",
        "制品引用的 {uri} 位于别处，无法复制；请在不复制的情况下注册",
    ),
    "deleted_not_registered": (
        "{what} was deleted a moment ago; nothing was registered",
        "{what} 刚刚被删除；未注册任何内容",
    ),
    "may_not_register": (
        "you may not add to this project any more; nothing was registered",
        "您已无权向此项目添加内容；未注册任何内容",
    ),
    # what keeps objects and logs
    "folder_deleted": ("{path}: its folder is repeatedly deleted; try again", "{path}：其文件夹不断被删除；请重试"),
    "key_too_long": ("{path}: the key is too long for this store", "{path}：键对此存储而言过长"),
    "path_is_object": (
        "{path}: a folder of this path is an object; choose another key",
        "{path}：路径中的文件夹是一个对象；请另选键",
    ),
    "server_disk_full": (
        "the server's disk is full: {path} was not stored; free space and send it again",
        "服务器磁盘已满：{path} 未存储；请清理空间后重新发送",
    ),
    "log_disk_full": (
        "the disk is full: cannot store the log of {job}; free space at {folder}",
        "磁盘已满：无法存储 {job} 的日志；请清理 {folder} 的空间",
    ),
    "metrics_disk_full": (
        "the disk is full: cannot store the metrics of {run}; free space on the disk of {folder}",
        "磁盘已满：无法存储 {run} 的指标；请清理 {folder} 所在磁盘的空间",
    ),
    "service_cannot": ("{path}: the object service cannot do this: {told}", "{path}：对象存储服务不支持此操作：{told}"),
    "service_rejected": (
        "the object service at {place} rejected a request: {told}",
        "位于 {place} 的对象存储服务拒绝了请求：{told}",
    ),
    "service_has_no": ("the object service has no {path}: {told}", "对象存储服务中没有 {path}：{told}"),
    "no_s3": (
        "{place} does not answer as an S3 service does; check the endpoint",
        "{place} 的响应不符合 S3 服务；请检查服务地址",
    ),
    "bucket_made_since": (
        "bucket {name} was deleted and created again since",
        "存储桶 {name} 此后已被删除并重新创建",
    ),
    "run_just_deleted": ("the run was deleted a moment ago", "该运行刚刚被删除"),
    "no_such_rank": (
        "{job} has no rank {rank}; its ranks are 0 to {last}",
        "{job} 没有 rank {rank}；其 rank 为 0 到 {last}",
    ),
    "too_many_uploads": (
        "too many uploads at a time: {size} of yours are on their way already; try again in {seconds} s",
        "同时上传过多：您已有 {size} 正在上传；请在 {seconds} 秒后重试",
    ),
    "no_provider": ("OpenID Connect is not configured on this server", "此服务器未配置 OpenID Connect"),
    "provider_refused": ("the provider did not sign you in ({told})", "身份提供方未允许您登录（{told}）"),
}
