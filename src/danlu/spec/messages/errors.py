"""Failures that are told outside of fields, in English and Chinese.

English as it is raised, with parameters.
`tests/spec/test_failures_catalogue.py` looks for raised texts that are missing here.
"""

from __future__ import annotations

ERRORS: dict[str, tuple[str, str]] = {
    # signing in, and who may
    "needs_credentials": ("this needs credentials; {inner}", "需要登录凭据；{inner}"),
    "not_an_api_key": ("this is not an API key; {inner}", "这不是 API 密钥；{inner}"),
    "api_key_unknown": ("the API key is unknown or was deleted; {inner}", "API 密钥无效或已删除；{inner}"),
    "api_key_expired": ("the API key expired on {when}; {inner}", "API 密钥已于 {when} 过期；{inner}"),
    "how_to_sign_in": (
        "sign in with `danlu login`, or set DANLU_API_KEY",
        "请用 `danlu login` 登录，或设置 DANLU_API_KEY",
    ),
    "session_over": ("the browser session has expired; sign in again", "登录会话已结束；请重新登录"),
    "signed_out": ("you were signed out meanwhile; nothing was changed", "您已退出登录；未作任何更改"),
    "signed_out_endpoint": (
        "you were signed out meanwhile; sign in and open the endpoint again",
        "您已退出登录；请登录后重新打开访问入口",
    ),
    "account_inactive": ("the account is not active; ask an admin", "账号未启用；请联系管理员"),
    "wrong_password": (
        "the name or the password is wrong, or an admin has not approved your account yet",
        "用户名或密码错误，或管理员尚未批准您的账号",
    ),
    "give_credentials": ("give a token, or a name and a password", "请提供令牌，或用户名和密码"),
    "foreign_form": (
        "this form is not from the page of this session; open it again",
        "此表单不属于当前会话；请重新打开页面",
    ),
    "sign_in_link_used": (
        "the sign-in link was used or has expired; ask an admin for a new one (admins: `danlu up --new-link`)",
        "登录链接已使用或已过期；请管理员新建一个，管理员可使用 `danlu up --new-link`",
    ),
    "too_many_try_in": ("too many {what}; try again in {time}", "{what}次数过多；请在 {time}后重试"),
    "too_many_sign_in": (
        "too many sign-ins at the moment; try again in {seconds} seconds",
        "当前登录人数过多；请在 {seconds} 秒后重试",
    ),
    "no_registrations": (
        "this server does not accept registrations; ask an admin for an invitation",
        "此服务器不开放注册；请向管理员申请邀请",
    ),
    "registrations_full": (
        "{count} registrations are pending; ask an admin to approve or reject them",
        "已有 {count} 个注册等待批准；请联系管理员处理",
    ),
    "link_invalid": (
        "the link is invalid or has expired: it works for a minute; `danlu open` prints a new one",
        "链接无效或已过期，有效期为一分钟；可用 `danlu open` 获取新的链接",
    ),
    "other_site": (
        "this was sent by a page of another site; open the sign-in page of this server yourself",
        "请求来自其他网站的页面；请自行打开此服务器的登录页",
    ),
    "other_site_not": (
        "this was sent by a page of another site, not by {origin}",
        "请求来自其他网站的页面，而不是 {origin}",
    ),
    "csrf": (
        "requests of a browser that change something carry the header {header}",
        "浏览器的修改请求必须带有请求头 {header}",
    ),
    # users and projects
    "name_taken": ("the name {name} is taken; choose another", "名称 {name} 已被占用；请另选一个"),
    "name_taken_approve": (
        "the name {name} is taken; give another: danlu users approve {registration} --name NAME",
        "名称 {name} 已被占用；请另给一个：danlu users approve {registration} --name NAME",
    ),
    "no_user_listed": ("no user {name}; `danlu users ls` lists them", "没有用户 {name}；可用 `danlu users ls` 查看"),
    "no_user_known": (
        "no user {name}; `danlu users ls` lists the users that you can see",
        "没有用户 {name}；可用 `danlu users ls` 查看您可见的用户",
    ),
    "no_user": ("no user {name}", "没有用户 {name}"),
    "no_active_user": (
        "no active user {name}; names are written as in `danlu whoami`",
        "没有启用的用户 {name}；用户名的写法与 `danlu whoami` 中的一致",
    ),
    "no_registration": (
        "no registration {id}; `danlu users ls` lists the pending ones",
        "没有注册申请 {id}；可用 `danlu users ls` 查看等待批准的申请",
    ),
    "not_by_oidc": (
        "{id} was not registered by OpenID Connect and cannot be linked; approve or reject it",
        "{id} 不是通过 OpenID Connect 注册的，无法关联；请批准或拒绝",
    ),
    "user_disabled": (
        "{name} is disabled; first: danlu users enable {same}",
        "{name} 已停用；请先启用：danlu users enable {same}",
    ),
    "last_admin": (
        "{name} is the last admin; make another user an admin first: danlu users admin NAME",
        "{name} 是最后一位管理员；请先将其他用户设为管理员：danlu users admin NAME",
    ),
    "last_owner": (
        "{name} is the last owner of {project}; make another user an owner first: "
        "danlu projects add {same} NAME --role owner",
        "{name} 是 {project} 的最后一位所有者；请先设置其他所有者：danlu projects add {same} NAME --role owner",
    ),
    "no_project": (
        "no project {name}; `danlu projects ls` shows yours",
        "没有项目 {name}；可用 `danlu projects ls` 查看",
    ),
    "no_project_listed": (
        "no project {name}; `danlu projects ls` lists them",
        "没有项目 {name}；可用 `danlu projects ls` 查看",
    ),
    "project_archived": (
        "project {name} is archived; an owner can restore it: danlu projects unarchive {same}",
        "项目 {name} 已归档；所有者可以恢复：danlu projects unarchive {same}",
    ),
    "bucket_archived": (
        "the project of bucket {bucket} is archived; an owner can restore it",
        "存储桶 {bucket} 所属的项目已归档；所有者可以恢复",
    ),
    "no_default_project": ("you have no default project; {inner}", "您没有默认项目；{inner}"),
    "default_project_gone": (
        "your default project was deleted, or you left it; {inner}",
        "您的默认项目已被删除，或您已不是其成员；{inner}",
    ),
    "default_project_closed": (
        "you may not add to your default project {project}; {inner}",
        "您无权向默认项目 {project} 添加内容；{inner}",
    ),
    "no_usable_project": (
        "you are not a member of any project that you may add to; ask a project owner to invite you",
        "您不属于任何可以添加内容的项目；请联系项目所有者邀请您",
    ),
    "name_a_project": (
        "name one ({names}), or set a default: danlu projects default {first}",
        "请指明一个（{names}），或设置默认项目：danlu projects default {first}",
    ),
    "project_not_empty": (
        "project {name} is not empty: {inside}; delete or move that first, or archive it: "
        "danlu projects archive {same}",
        "项目 {name} 不为空：{inside}；请先删除或移走，或将其归档：danlu projects archive {same}",
    ),
    "project_has_jobs": (
        "{count} of the project's jobs wait or run; stop them first: danlu ps, danlu stop JOB",
        "项目中有 {count} 个任务正在排队或运行；请先停止：danlu ps、danlu stop JOB",
    ),
    "not_a_member": (
        "{name} is no member of {project}; invite them: danlu projects invite {same} NAME",
        "{name} 不是 {project} 的成员；请先邀请：danlu projects invite {same} NAME",
    ),
    "not_invited": (
        "{user} is not invited to {project}; `danlu projects invitations {same}` lists who is",
        "{user} 没有收到 {project} 的邀请；可用 `danlu projects invitations {same}` 查看",
    ),
    "inviter_left": (
        "the user who invited you no longer owns {project}; ask an owner of it to invite you again",
        "邀请您的用户已不是 {project} 的所有者；请所有者重新邀请",
    ),
    "no_invitation": (
        "no invitation {id} of yours; `danlu projects invitations` lists them",
        "您没有邀请 {id}；可用 `danlu projects invitations` 查看",
    ),
    "invitations_full": (
        "{count} invitations to {project} are pending; withdraw some of them",
        "{project} 有 {count} 个邀请等待答复；请撤回一部分",
    ),
    "no_api_key": ("no API key {id} of yours", "您没有 API 密钥 {id}"),
    "api_keys_full": (
        "you have {count} API keys already; delete one that is not used: danlu keys ls",
        "您已有 {count} 个 API 密钥；请删除不再使用的：danlu keys ls",
    ),
    "ssh_keys_full": (
        "you have {count} SSH keys, which is the maximum; remove one first",
        "您已有 {count} 个 SSH 密钥，已达上限；请先移除一个",
    ),
    "ssh_key_twice": ("you have added this key before: {fingerprint}", "此密钥已添加过：{fingerprint}"),
    "no_ssh_key": (
        "you have no SSH key {id}; `danlu ssh-keys ls` shows yours",
        "您没有 SSH 密钥 {id}；可用 `danlu ssh-keys ls` 查看",
    ),
    "webhooks_full": (
        "you have {count} webhooks, which is the maximum; remove one first",
        "您已有 {count} 个网络回调，已达上限；请先移除一个",
    ),
    "no_webhook": (
        "you have no webhook {id}; `danlu webhooks ls` shows yours",
        "您没有网络回调 {id}；可用 `danlu webhooks ls` 查看",
    ),
    "deliveries_wait": (
        "{count} deliveries to {id} are waiting; wait until they are delivered",
        "有 {count} 次到 {id} 的推送在等待；请先查看其结果",
    ),
    # jobs
    "no_job_named": (
        "no job named {name}; `danlu ps -a` lists them",
        "没有名为 {name} 的任务；可用 `danlu ps -a` 查看",
    ),
    "no_job": ("no job {id}; `danlu ps -a` lists them", "没有任务 {id}；可用 `danlu ps -a` 查看"),
    "no_such_job": ("no job {id}", "没有任务 {id}"),
    "several_jobs": (
        "several jobs have ids that begin with {prefix}: {ids}; give more of it",
        "有多个任务的编号以 {prefix} 开头：{ids}；请多写几位",
    ),
    "several_open_jobs": (
        "several jobs named {name} have not ended: {ids}; give an id",
        "有多个名为 {name} 的任务尚未结束：{ids}；请使用编号",
    ),
    "only_active_pauses": (
        "{job} is {state}; only an active job can be paused",
        "{job} 的状态为“{state}”；只有进行中的任务可以暂停",
    ),
    "not_paused": (
        "{job} is {state} and not paused; `danlu start` runs an ended job again",
        "{job} 的状态为“{state}”，并未暂停；可用 `danlu start` 重新运行已结束的任务",
    ),
    "only_ended_restarts": (
        "{job} is {state}; only a job that has ended can be started again",
        "{job} 的状态为“{state}”；只有已结束的任务可以重新运行",
    ),
    "changed_a_moment_ago": (
        "{job} was changed by another request; check its state and try again",
        "{job} 刚刚发生变化；请查看后重试",
    ),
    "stop_first": (
        "{job} is {state}; stop it first: danlu stop {same}",
        "{job} 的状态为“{state}”；请先停止：danlu stop {same}",
    ),
    "no_attempt": ("{job} has no attempt {number}; {had}", "{job} 没有第 {number} 次运行；{had}"),
    "logs_gone": (
        "the logs of attempt {number} of {job} were removed: they are kept for {days} days",
        "{job} 第 {number} 次运行的日志已删除：日志保留 {days} 天",
    ),
    "no_rank": ("{job} has no rank {rank}; {have}", "{job} 没有 Rank {rank}；{have}"),
    "favourites_full": (
        "you have {count} favourites already; remove one of them",
        "您已有 {count} 个收藏；请先移除一个",
    ),
    "templates_full": ("you have {count} templates already; delete one of them", "您已有 {count} 个模板；请先删除一个"),
    "views_full": ("you have {count} views already; delete one of them", "您已有 {count} 个视图；请先删除一个"),
    "no_template": (
        "no template {name}; `danlu templates ls` shows them",
        "没有模板 {name}；可用 `danlu templates ls` 查看",
    ),
    "no_view": (
        "no view {name}; it was deleted, or it is not shared with you",
        "没有视图 {name}；它已被删除，或未与您共享",
    ),
    "no_example": ("there is no example {name}", "没有示例 {name}"),
    "no_flow": (
        "no data flow is recorded for {node}; expected the id of a job, a run, an artifact or a model version, "
        "or store://BUCKET/PATH of something that a job has read or written",
        "没有 {node} 的数据血缘；应为任务、运行、制品或模型版本的编号，或任务读写过的 store://BUCKET/PATH",
    ),
    "not_in_catalog": (
        "no {noun} {name}; `danlu {same}s` lists them",
        "没有{noun} {name}；可用 `danlu {same}s` 查看",
    ),
    "catalog_exists": (
        "there is a {noun} {name} already; change that one, or choose another name",
        "{noun} {name} 已存在；请修改它，或另选名称",
    ),
    "no_node": ("no node {name}; `danlu nodes` lists them", "没有节点 {name}；可用 `danlu nodes` 查看"),
    # ways into a job
    "endpoints_until_end": (
        "{job} is {state}; endpoints can be opened until a job ends",
        "{job} 的状态为“{state}”；任务结束后不能打开访问入口",
    ),
    "endpoints_while_running": (
        "{job} is {state}; its endpoints can be used while it is running",
        "{job} 的状态为“{state}”；只有运行中的任务可以使用访问入口",
    ),
    "endpoints_full": (
        "{job} has {count} endpoints, which is the maximum; close one first",
        "{job} 已有 {count} 个访问入口，已达上限；请先关闭一个",
    ),
    "endpoint_closed": ("endpoint {name} of {job} was closed", "{job} 的访问入口 {name} 已关闭"),
    "endpoint_not_shared": (
        "endpoint {name} of {job} is not shared with you; ask its owner",
        "{job} 的访问入口 {name} 未与您共享；请联系其所有者",
    ),
    "no_open_endpoint": (
        "{job} has no open endpoint {name}; `danlu open {same} {again}` opens it",
        "{job} 没有打开的访问入口 {name}；可用 `danlu open {same} {again}` 打开",
    ),
    "port_silent": ("the program on port {port} does not answer", "端口 {port} 上的程序没有应答"),
    "shell_while_running": (
        "{job} is {state}; a shell can be opened while it is running",
        "{job} 的状态为“{state}”；只有运行中的任务可以打开终端",
    ),
    "shells_full": (
        "you have {count} shells open, which is the maximum; close one first",
        "您已打开 {count} 个终端，已达上限；请先关闭一个",
    ),
    "server_shells_full": (
        "{count} shells are open on this server, which is the maximum; try again later",
        "此服务器已打开 {count} 个终端，已达上限；请稍后重试",
    ),
    "shell_gone": (
        "no open shell {name} in {job}; it may have been closed because it was idle",
        "{job} 中没有打开的终端 {name}；可能因空闲而关闭",
    ),
    "no_task": ("{job} has no task {rank}: it has {told}", "{job} 没有实例 {rank}；共有 {told}"),
    "no_shells": (
        "engine {engine} cannot open a shell in a running task",
        "引擎 {engine} 不能在运行中的实例内打开终端",
    ),
    "ssh_no_page": (
        "ssh cannot be opened in a browser; use `danlu ssh {job}`",
        "SSH 不能在浏览器中打开；请用 `danlu ssh {job}` 进入任务",
    ),
    "shell_lost": ("you may no longer change {job}; the shell was closed", "您已无权修改 {job}；终端已关闭"),
    "tensorboard_itself": (
        "{job} is {state}; open its endpoint {name} itself",
        "{job} 的状态为“{state}”；请直接打开其访问入口 {name}",
    ),
    # the server itself
    "no_page": ("no {path} here", "此处没有 {path}"),
    "no_such_address": ("no {method} {path} here", "此处没有 {method} {path}"),
    "bug": ("internal error; the server's log has the details", "服务器内部错误；详情见服务器日志"),
    "too_many_at_a_time": (
        "too many requests at a time: {told}; try again in {seconds} s",
        "同时的请求过多：{told}；请在 {seconds} 秒后重试",
    ),
    "body_too_large": (
        "the body is too large: expected at most {bytes} bytes ({size})",
        "请求内容过大：应至多 {bytes} 字节（{size}）",
    ),
    "streams_full": (
        "you have {count} {what} open, which is the maximum; close one first",
        "您已打开 {count} 个{what}，已达上限；请先关闭一个",
    ),
    "request_slow": (
        "the request did not arrive within {seconds} s; send it again",
        "请求未能在 {seconds} 秒内到达；请重新发送",
    ),
    "database_overloaded": ("the database is overloaded; try again", "数据库负载过高；请重试"),
    "database_unavailable": ("the database is unavailable: {told}; try again", "数据库不可用：{told}；请重试"),
    "database_full": (
        "cannot write to the database: {told}; free space on its disk",
        "无法写入数据库：{told}；请清理其磁盘空间",
    ),
}
