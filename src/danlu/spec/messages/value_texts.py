"""What is wrong with values: of filters, templates, quotas, models and inputs, in English and Chinese."""

from __future__ import annotations

VALUE_TEXTS: dict[str, tuple[str, str]] = {
    # after "expected"
    "wants_repository": (
        "an address such as https://example.com/team/train.git",
        "地址，例如 https://example.com/team/train.git",
    ),
    "wants_ref": ("a branch, tag or commit", "分支、标签或提交"),
    "wants_git": ("git as well: it belongs to a repository", "同时给出 git：它属于一个仓库"),
    "wants_success": (
        "all, any, chief, a role, or one task such as worker-0",
        "all、any、chief、角色名，或一个实例，例如 worker-0",
    ),
    "wants_requirements": (
        "a file of the code folder (requirements.txt, pyproject.toml or uv.lock) or a list of packages",
        "代码目录中的文件（requirements.txt、pyproject.toml 或 uv.lock）或包的列表",
    ),
    "wants_node": (
        "KIND:ID with one of {choices}, such as job:train-074123456789012345",
        "KIND:ID，KIND 为 {choices} 之一，例如 job:train-074123456789012345",
    ),
    "wants_model_alias": (
        "an alias of a letter and up to 59 letters, digits, dots, dashes and underscores, such as champion",
        "以字母开头的别名，其后至多 59 个字母、数字、点、连字符和下划线，例如 champion",
    ),
    "wants_format": ("a format of one word, such as {example}", "一个词的格式，例如 {example}"),
    "wants_model_version": (
        "a number, latest or an alias as version, such as {example}:3",
        "版本为数字、latest 或别名，例如 {example}:3",
    ),
    "wants_short_key": ("a key of at most {number} bytes", "至多 {number} 字节的键"),
    "wants_no_spaces": ("at most {number} characters without spaces", "至多 {number} 个字符，不含空格"),
    "wants_hash_option": (
        "sha256, secret, endpoint or region after '#'",
        "“#”之后为 sha256、secret、endpoint 或 region",
    ),
    "wants_digest_option": ("64 hexadecimal digits as sha256", "sha256 为 64 位十六进制数字"),
    "wants_secret_name": ("the name of a job secret: {example}#secret=NAME", "任务密钥的名称：{example}#secret=NAME"),
    "wants_s3_endpoint": ("an endpoint such as https://s3.example.com", "服务地址，例如 https://s3.example.com"),
    "wants_region": ("a region such as eu-west-1", "区域，例如 eu-west-1"),
    "wants_in_bucket": (
        "an object or a folder in the bucket, such as {example}/data/",
        "存储桶中的对象或文件夹，例如 {example}/data/",
    ),
    "wants_data_path": (
        "a path such as /opt/ml/input/data/... or /data/...",
        "路径，例如 /opt/ml/input/data/... 或 /data/...",
    ),
    "wants_name_of": ("the name of {noun}, such as {example}", "{noun}的名称，例如 {example}"),
    "wants_filter_field": (
        "a field here, such as metrics.val.acc, hparams.lr or name",
        "字段，例如 metrics.val.acc、hparams.lr 或 name",
    ),
    "wants_filter_value": ("a number, or a text in quotes here", "数字，或引号中的文本"),
    "wants_filter_word": ("`and` or `or` here", " `and` 或 `or`"),
    "wants_filter_in": ("`in` after `not` here", "`not` 之后的 `in`"),
    "wants_filter_sign": ("one of = != < <= > >= ~ in here", " = != < <= > >= ~ in 之一"),
    "wants_sign_here": ("{sign} here", "符号 {sign}"),
    "wants_larger_key": ("an RSA key of at least {number} bits", "至少 {number} 位的 RSA 密钥"),
    "wants_device_type": ("a device type such as {example}", "设备类型，例如 {example}"),
    "wants_https_for": ("https:// for {host}", "{host} 的 https:// 地址"),
    "wants_plain_address": ("an address without spaces and control characters", "不含空格和控制字符的地址"),
    "wants_anonymous_address": (
        "an address without a name and password in it",
        "不含用户名和密码的地址",
    ),
    "wants_kinds": ("kinds of events", "事件类型"),
    "wants_code_in_store": ("a repository or a folder in the store", "仓库或存储中的文件夹"),
    "wants_other_folder": ("a path that is not below {path}", "不在 {path} 之内的路径"),
    "wants_moment": ("a moment up to 31 days before {end}", "{end} 之前 31 天内的时间"),
    "wants_end_before": (
        "an end up to {end} UTC, when the key that asks expires",
        "不晚于 {end}（UTC）的截止时间，即当前密钥的失效时间",
    ),
    "wants_sum": ("{number}, the sum of the roles", "{number}，即各角色之和"),
    "wants_nodes_together": ("at most {number} nodes in all roles together", "所有角色合计至多 {number} 个节点"),
    "wants_time": (
        "a time such as '2026-01-31' or '2026-01-31T12:00:00'",
        "时间，例如 '2026-01-31' 或 '2026-01-31T12:00:00'",
    ),
    "wants_sort": (
        "TYPE/NAME of a metric, hparams.NAME, summary.NAME or one of {choices}, with - in front for the largest first",
        "指标的 TYPE/NAME、hparams.NAME、summary.NAME 或 {choices} 之一，前面加 - 表示从大到小",
    ),
    # whole sentences
    "of_field": ("{field}: expected {inner}, got {given}", "{field}：应为{inner}，实际为 {given}"),
    "got_and_leave": ("expected {inner}, got {given}; leave it out", "应为{inner}，实际为 {given}；请留空"),
    "got_sorted": ("expected {inner}; got {given}", "应为{inner}；实际为 {given}"),
    "got_file": ("expected {inner}, got {given}; put them into a file", "应为{inner}，实际为 {given}；请写入文件"),
    "got_path": (
        "expected {inner}, got {given}: a path is relative to the code folder and stays in it",
        "应为{inner}，实际为 {given}：路径相对于代码目录，且不能离开它",
    ),
    "got_package": (
        "expected {inner}, got {given}; one package is a list too: [{package}]",
        "应为{inner}，实际为 {given}；单个包也要写成列表：[{package}]",
    ),
    "got_reserved_alias": (
        "expected {inner}, got {given}; latest and v3 are reserved for the newest and the third version",
        "应为{inner}，实际为 {given}；latest 和 v3 保留给最新版本和第三个版本",
    ),
    "got_short_key": (
        "expected {inner}, got {given}; use ssh-ed25519",
        "应为{inner}，实际为 {given}；请使用 ssh-ed25519",
    ),
    "got_test_kind": (
        "expected {inner}, got {given}, which every webhook gets when it is tried out",
        "应为{inner}，实际为 {given}，它在测试时会发给每个网络回调",
    ),
    "got_test_email": (
        "expected {inner}, got {given}, which is for trying out webhooks",
        "应为{inner}，实际为 {given}，它用于测试网络回调",
    ),
    "plain_http": (
        "expected {inner}; plain http:// is for networks that admins list",
        "应为{inner}；明文 http:// 仅用于管理员列出的网络",
    ),
    "signed_instead": ("expected {inner}; deliveries are signed instead", "应为{inner}；推送已有签名"),
    "only_sha256": (
        "expected only sha256 after '#' of an https:// address; secret and endpoint go with s3://",
        "https:// 地址的“#”之后只能是 sha256；secret 和 endpoint 用于 s3://",
    ),
    "no_conda": (
        "{given} is a file of conda, which is not supported; expected {inner}, or an image with conda",
        "{given} 是 conda 的文件，不受支持；应为{inner}，或带有 conda 的镜像",
    ),
    "no_code_for": (
        "requirements: {given} is a file of the code folder, and the job has no code; "
        "add `code: .`, or list the packages: [torch, numpy]",
        "requirements：{given} 是代码目录中的文件，而任务没有代码；请添加 `code: .`，或列出包：[torch, numpy]",
    ),
    "not_with_image": (
        "{field} goes with the Python of the node, and this job has an image; use one of them",
        "{field} 用于节点的 Python，而此任务使用镜像；请只用其中之一",
    ),
    "not_a_secret": ("{field}: {given} is not one of the job's secrets", "{field}：{given} 不是该任务的密钥"),
    "launcher_only": (
        "expected none: only the launcher has a command; it starts the others",
        "应留空：只有 launcher 有命令，其他角色由它启动",
    ),
    "one_node_command": (
        "expected 1, got {given}: the command runs on one node",
        "应为 1，实际为 {given}：命令在一个节点上运行",
    ),
    "no_roles": (
        "launch: {launch} does not support roles; use command and nodes",
        "launch：{launch} 不支持角色；请使用 command 和 nodes",
    ),
    "needs_worker": (
        "launch: ps_worker needs the role worker; expected roles: {example}",
        "launch：ps_worker 需要角色 worker；应为 roles：{example}",
    ),
    "needs_roles": (
        "launch: {launch} with roles needs {roles}; or use command and nodes",
        "launch：{launch} 使用角色时需要 {roles}；或使用 command 和 nodes",
    ),
    "belongs_to_roles": ("with roles, {field} belongs to each role", "使用角色时，{field} 属于各个角色"),
    "belong_to_roles": ("with roles, {field} belong to each role", "使用角色时，{field} 属于各个角色"),
    "command_or_roles": (
        "expected either command or roles, got both: each role has its own command",
        "command 和 roles 只能二选一：每个角色有自己的命令",
    ),
    "system_folder": (
        "expected {inner}, got the system folder {given}",
        "应为{inner}，实际为系统文件夹 {given}",
    ),
    "bad_key_empty": ("invalid key {key}: empty, or an extra '/'", "键 {key} 无效：为空，或多了“/”"),
    "bad_key_part": ("invalid key {key}: {part} is not allowed in a path", "键 {key} 无效：路径中不允许 {part}"),
    "bad_key_long": (
        "invalid key {key}: names in a path have at most {number} bytes",
        "键 {key} 无效：路径中的名称至多 {number} 字节",
    ),
    "bad_key_partial": (
        "invalid key {key}: names that start with '.partial.' are reserved",
        "键 {key} 无效：以 '.partial.' 开头的名称是保留的",
    ),
    "bad_key": ("invalid key {key}: {inner}", "键 {key} 无效：{inner}"),
    "bad_key_characters": (
        "control characters, lone surrogates, U+FFFE, U+FFFF and backslashes are not allowed",
        "不允许控制字符、不成对的代理字符、U+FFFE、U+FFFF 和反斜杠",
    ),
    "nested_deep": ("{place}... is nested more than {number} deep", "{place}... 嵌套超过 {number} 层"),
    "lone_surrogates": ("{place}: lone surrogates are not allowed", "{place}：不允许不成对的代理字符"),
    "name_not_text": (
        "{place}: the name {given} is not text; put it in quotes",
        "{place}：名称 {given} 不是文本；请加引号",
    ),
    "not_json_number": (
        "{place}: {given} is not a number in JSON; put it in quotes",
        "{place}：{given} 不是 JSON 中的数字；请加引号",
    ),
    "not_json_value": (
        "{place}: {given} is not a JSON value; put it in quotes",
        "{place}：{given} 不是 JSON 值；请加引号",
    ),
    "listed_twice": ("a path is listed twice", "同一路径出现两次"),
    "filter_at": (
        "filter: {inner}, at character {number}:\n{place}",
        "filter：{inner}（第 {number} 个字符）：\n{place}",
    ),
    "filter_too_long": ("the filter is longer than {number} characters", "筛选条件超过 {number} 个字符"),
    "filter_invalid": ("{given} is not valid here; put texts in quotes", "{given} 在此处无效；文本请加引号"),
    "filter_contains": (
        "~ means `contains` and needs a text in quotes",
        "~ 表示“包含”，后面需要引号中的文本",
    ),
    "filter_metric": (
        "{function}(...) needs a metric such as metrics.val.acc",
        "{function}(...) 需要指标，例如 metrics.val.acc",
    ),
    "filter_field": ("no field {field}; known: {known}", "没有字段 {field}；可用：{known}"),
    "no_run_has_near": ("no run has {name}; did you mean {near}?", "没有运行包含 {name}；是否为 {near}？"),
    "no_run_has": ("no run has {name}", "没有运行包含 {name}"),
    "label_compared": ("a label is compared with = != ~ or in", "标签只能用 = != ~ 或 in 比较"),
    "time_expected": ("{field}: expected {inner}", "{field}：应为{inner}"),
    "no_regex": ("{given} is not a regular expression: {problem}", "{given} 不是正则表达式：{problem}"),
    "no_secrets_in_template": (
        "a template cannot contain secrets, because others can read it; give them at submission",
        "模板中不能有密钥，因为其他用户可以读取；请在提交时填写",
    ),
    "image_or_framework": (
        "{image} conflicts with framework {framework}, which has image {own}; use one of them",
        "镜像 {image} 与框架 {framework}（镜像 {own}）冲突；请只用其中之一",
    ),
    "image_or_node": (
        "{image} conflicts with framework {framework}, which uses the node's own Python; use one of them",
        "镜像 {image} 与框架 {framework}（使用节点自带的 Python）冲突；请只用其中之一",
    ),
    "flavor_contradicts": (
        "{given} contradicts flavor {flavor}, which has {own}; remove one of them",
        "{given} 与规格 {flavor}（{own}）冲突；请删除其中之一",
    ),
    "framework_launch": (
        "framework {framework} supports {modes}, got {given}",
        "框架 {framework} 支持 {modes}，实际为 {given}",
    ),
    "framework_no_image": (
        "framework {framework} has no image; remove image_login",
        "框架 {framework} 没有镜像；请删除 image_login",
    ),
    "one_source": (
        "give one of job, artifact or path; given: {given}",
        "job、artifact、path 只能给出一个；已给出：{given}",
    ),
    "folder_with_job": (
        "folder is a part of a job's output; omit it, or pass job",
        "folder 是任务输出的一部分；请留空，或给出 job",
    ),
    "to_with_copy": (
        "to is the destination of a copy; omit it, or pass copy_files",
        "to 是副本的位置；请留空，或设置 copy_files",
    ),
    "whole_bucket": (
        "{path} is a whole bucket; name a folder or an object in it",
        "{path} 是整个存储桶；请指定其中的文件夹或对象",
    ),
    "wants_output_folder": (
        "{inner}; expected a folder of the job's output, such as model",
        "{inner}；应为任务输出中的文件夹，例如 model",
    ),
    "no_bucket_for_model": (
        "the project has no bucket to copy the model to; create one with `danlu store mb`",
        "项目没有可存放模型的存储桶；可用 `danlu store mb` 新建",
    ),
    "no_folder_yet": (
        "there is no folder {name}; create it first, or pass make_folder",
        "没有文件夹 {name}；请先新建，或设置 make_folder",
    ),
    "not_a_resource": (
        "{given} is not a resource; expected a device type such as npu, or cpus or memory",
        "{given} 不是资源；应为设备类型（例如 npu）、cpus 或 memory",
    ),
    "no_amount": ("{given} is no amount; expected {inner}", "{given} 不是数量；应为{inner}"),
    "zero_or_more": ("0 or more", "不小于 0 的数"),
    "not_whole_devices": ("{given} is not a whole number of devices", "{given} 不是整数个设备"),
    "no_member": ("{name} is no member of {project}", "{name} 不是 {project} 的成员"),
    "member_already": (
        "{name} is a member already; change their role: danlu projects add",
        "{name} 已经是成员；可修改其角色：danlu projects add",
    ),
    "choose_other": ("{name} exists already; choose another name", "{name} 已存在；请另选名称"),
    "is_taken": ("{name} is taken", "{name} 已被占用"),
    "nothing_to_delete": ("it is empty; name what is to be deleted", "内容为空；请指定要删除的对象"),
    "no_cursor": (
        "{given} is not a cursor of this list; send the `next` of the previous page",
        "{given} 不是此列表的位置标记；请发送上一页的 `next`",
    ),
    "too_many_lines": (
        "more than {count} lines or {number} points; ask for fewer runs, series or max_points",
        "超过 {count} 条曲线或 {number} 个数据点；请减少运行、指标或 max_points",
    ),
    "project_of_scope": (
        "expected the name of a project with the scope `project`, and none with others",
        "范围为 `project` 时应填写项目名称，其他范围应留空",
    ),
    "only_per_node": (
        "Apulis starts the command once on every node; expected 'per_node'",
        "Apulis 在每个节点上启动一次命令；应为 'per_node'",
    ),
    "per_device_ascend": (
        "'per_device' goes with launch: ascend only, and this job has launch: {launch}",
        "'per_device' 只能用于 launch: ascend，而此任务为 launch: {launch}",
    ),
    "own_access_only": (
        "expected own, got {given}: {job} is a job and cannot grant access",
        "应为 own，实际为 {given}：请求来自 {job}，任务不能转授访问权限",
    ),
    "no_host_network": (
        "'host' is not allowed on this server: a job would reach every service of its nodes; leave it out, or ask an "
        "admin to set DANLU_SERVER_HOST_NETWORK=true",
        "此服务器不允许 'host'：任务会访问到节点上的所有服务；请留空，或请管理员设置 DANLU_SERVER_HOST_NETWORK=true",
    ),
    "contract_no_sandbox": (
        "{contract} needs paths of its own in the job, and no node here has a sandbox that could provide them; "
        "install bubblewrap",
        "{contract} 需要任务中的专用路径，而没有节点的沙箱可以提供；请安装 bubblewrap",
    ),
    "absolute_no_sandbox": (
        "{path} is an absolute path, and no node here has a sandbox that could provide it; write a path relative to "
        "DANLU_DATA_DIR, or install bubblewrap",
        "{path} 是绝对路径，而没有节点的沙箱可以提供；请使用相对于 DANLU_DATA_DIR 的路径，或安装 bubblewrap",
    ),
    "tree_not_uploaded": (
        "{tree} is not uploaded; send it with POST /api/v1/trees first",
        "{tree} 尚未上传；请先用 POST /api/v1/trees 发送",
    ),
    "long_key_begins": (
        "expected {inner}, got one that starts with {given}",
        "应为{inner}，实际的键以 {given} 开头",
    ),
    "no_roles_word": (
        "expected {inner}, got {given}; use command and nodes",
        "应为{inner}，实际为 {given}；请使用 command 和 nodes",
    ),
    "not_json_at": ("it is not JSON: {problem} at character {number}", "不是 JSON：第 {number} 个字符处 {problem}"),
    "current_password": (
        "the current password is missing or wrong; an admin can create a link to set a new one",
        "当前密码缺失或错误；管理员可以生成链接供您设置新密码",
    ),
    "bad_project_name": ("invalid project name: {problem}; choose another name", "项目名称无效：{problem}；请另选名称"),
    "data_no_sandbox": (
        "{path} cannot be put at {target}: this node has no sandbox, so inputs go below {folder} only; give a relative "
        "path, and read DANLU_DATA_DIR in the job",
        "{path} 不能放到 {target}：此节点没有沙箱，输入只能位于 {folder} 内；请使用相对路径，"
        "并在任务中读取 DANLU_DATA_DIR",
    ),
    "wants_networks": (
        "networks such as 10.1.0.0/16, separated by commas",
        "以逗号分隔的网络，例如 10.1.0.0/16",
    ),
    "wants_python_of_nodes": (
        "one of {choices} (those of the nodes)",
        "{choices} 之一（节点上的版本）",
    ),
    "word_in_quotes": (
        "expected text as word {number}, got {given}; put it in quotes",
        "第 {number} 个词应为文本，实际为 {given}；请加引号",
    ),
    "no_bucket_for_results": (
        "the project has no bucket to put results in; create one with `danlu store mb`",
        "项目没有可存放结果的存储桶；可用 `danlu store mb` 新建",
    ),
    "code_of_machine": ("{path} is {what}; upload it and send code.tree", "{path} {what}；请上传并发送 code.tree"),
    "no_such_devices": (
        "no node and no flavor has devices of the type {type}; nodes and flavors have {known}",
        "没有节点或规格提供 {type} 类型的设备；节点和规格提供 {known}",
    ),
    "no_devices": (
        "no node and no flavor has devices of the type {type}; expected {example}",
        "没有节点或规格提供 {type} 类型的设备；应为 {example}",
    ),
    "no_such_device": (
        "no node and no flavor has {device}; nodes and flavors have {known}",
        "没有节点或规格提供 {device}；节点和规格提供 {known}",
    ),
}
