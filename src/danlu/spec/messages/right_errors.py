"""What users are refused because they lack a right, in English and Chinese."""

from __future__ import annotations

RIGHT_ERRORS: dict[str, tuple[str, str]] = {
    "for_admins": ("only admins may do this", "仅管理员可用"),
    "for_people": (
        "only users may do this; {job} is a job, and no `access` setting of a job allows it",
        "仅用户可用；{job} 是任务，任务的任何访问权限都不允许此操作",
    ),
    "access_needs": (
        "{job} has `access: {access}`: it reads its inputs, writes its output and records its own runs and artifacts; "
        "this needs `access: {least}` in its job file",
        "{job} 的访问权限为 `access: {access}`，只能读取输入、写入输出并记录自己的运行和制品；"
        "此操作需要在任务文件中设置 `access: {least}`",
    ),
    "for_owners_and_admins": (
        "only owners of project {project} and admins may do this",
        "仅项目 {project} 的所有者和管理员可用",
    ),
    "audit_for": ("only project owners and admins may read the audit log", "审计日志仅项目所有者和管理员可见"),
    "audit_of_project": (
        "only owners of {project} and admins may read its audit log",
        "{project} 的审计日志仅其所有者和管理员可见",
    ),
    "quotas_for_owners": (
        "only owners of project {project} may set its quotas; ask one of them",
        "项目 {project} 的配额由其所有者设置；请联系所有者",
    ),
    "own_profile_only": (
        "you may change your own full name and mail address; only admins may change the rest",
        "您只能修改自己的姓名和邮箱；其他内容由管理员修改",
    ),
    "not_yours_to_change": (
        "you may not change {what}; ask its owner or an owner of its project",
        "您无权修改 {what}；请联系其所有者或项目所有者",
    ),
    "not_yours_to_delete": (
        "you may not delete {what}; ask its owner or an owner of its project",
        "您无权删除 {what}；请联系其所有者或项目所有者",
    ),
    "not_yours_to_delete_project": (
        "you may not delete {what}; ask an owner of its project",
        "您无权删除 {what}；请联系项目所有者",
    ),
    "look_not_change": (
        "you may view {what} but not change it; ask an owner of its project",
        "您可以查看 {what}，但无权修改；请联系项目所有者",
    ),
    "look_not_add": (
        "you may view project {project} but not add to it; ask an owner of it",
        "您可以查看项目 {project}，但无权添加内容；请联系项目所有者",
    ),
    "no_access_any_more": (
        "you don't have access to this endpoint; open it again with `danlu open` or in the console",
        "您没有访问权限，或权限已失效；请用 `danlu open` 或控制台打开此访问入口",
    ),
    "outlives_key": (
        "{what} outlives this API key, which expires on {when}; sign in, or use a key that does not expire",
        "{what} 的有效期超过此 API 密钥（{when} 过期）；请登录，或使用永久有效的密钥",
    ),
    # only admins
    "for_admins_noun": (
        "{noun}s may be changed by admins only; ask one",
        "只有管理员可以修改{noun}；请联系管理员",
    ),
    "for_admins_keys": (
        "only admins may list the API keys of other users",
        "只有管理员可以查看其他用户的 API 密钥",
    ),
    "for_admins_costs": (
        "only admins may see the costs of all projects; `danlu ps` shows those of your jobs",
        "只有管理员可以查看所有项目的费用；可用 `danlu ps` 查看您的任务的费用",
    ),
    "for_admins_quota": (
        "only admins may set the quota of project {project}; its owners set those of its users",
        "只有管理员可以设置项目 {project} 的配额；项目所有者可以设置其用户的配额",
    ),
    "for_admins_nodes": (
        "only admins may drain nodes and resume scheduling on them",
        "只有管理员可以停止或恢复节点的调度",
    ),
    "for_admins_webhooks": (
        "only admins may have webhooks for all events",
        "只有管理员可以设置所有事件的网络回调",
    ),
}
