"""What a field expects, and what is wrong with it, in English and Chinese."""

from __future__ import annotations

FIELD_TEXTS: dict[str, tuple[str, str]] = {
    # after "expected"
    "wants_boolean": ("true or false", "true 或 false"),
    "wants_finite": ("a finite number", "有限的数字"),
    "wants_smaller": ("a smaller number", "更小的数字"),
    "wants_json": ("JSON", "JSON 文本"),
    "wants_digest": ("64 hexadecimal digits", "64 位十六进制数字"),
    "wants_command": ("a command", "命令"),
    "wants_command_form": ("a shell line or a list of words", "一行 shell 命令或单词列表"),
    "wants_duration": ("a duration such as {examples}", "时长，例如 {examples}"),
    "wants_size": ("a size such as {examples}", "大小，例如 {examples}"),
    "wants_size_below": ("a size below 8 EiB", "小于 8 EiB 的大小"),
    "wants_device": ("TYPE[:MODEL][:COUNT], such as {examples}", "TYPE[:MODEL][:COUNT]，例如 {examples}"),
    "wants_device_number": ("a number of devices such as {example}", "设备数量，例如 {example}"),
    "wants_devices": ("1 to 1024 devices per node", "每节点 1 到 1024 个设备"),
    "wants_name": (
        "1 to 100 characters without '/' or surrounding spaces",
        "1 到 100 个字符，不含“/”，首尾没有空格",
    ),
    "wants_variable": (
        "a variable name (letters, digits and '_', not starting with a digit)",
        "变量名（字母、数字和“_”，不以数字开头）",
    ),
    "wants_role": (
        "a role of up to 20 lower-case letters and digits, such as {example}",
        "角色名，至多 20 个小写字母和数字，例如 {example}",
    ),
    "wants_image": ("the name of an image, such as {example}", "镜像名称，例如 {example}"),
    "wants_store_path": ("a store path such as {example}", "存储路径，例如 {example}"),
    "wants_bucket": (
        "a bucket name of 3 to 63 lower-case letters, digits, dots and dashes",
        "存储桶名称，3 到 63 个小写字母、数字、点和连字符",
    ),
    "wants_source": (
        "store://, artifact:, model:, https:// or s3://",
        "store://、artifact:、model:、https:// 或 s3://",
    ),
    "wants_address": ("an address such as {example}", "地址，例如 {example}"),
    "wants_job_path": ("a path in the job, such as {examples}", "任务中的路径，例如 {examples}"),
    "wants_folder": ("a folder such as {example}", "文件夹，例如 {example}"),
    "wants_user_name": (
        "a user name of a lower-case letter and up to 31 lower-case letters, digits, dots, dashes and underscores, "
        "such as {example}",
        "用户名，以小写字母开头，之后至多 31 个小写字母、数字、点、连字符和下划线，例如 {example}",
    ),
    "wants_project_name": (
        "a project name of up to 63 lower-case letters, digits, dots, dashes and underscores, such as {example}",
        "项目名称，至多 63 个小写字母、数字、点、连字符和下划线，例如 {example}",
    ),
    "wants_catalog_name": (
        "{noun} name of up to 63 letters, digits, dots, dashes and underscores that starts with a letter or a digit, "
        "such as {example}",
        "{noun}名称，以字母或数字开头，至多 63 个字母、数字、点、连字符和下划线，例如 {example}",
    ),
    "wants_model_name": (
        "a model name of up to 100 letters, digits, dots, dashes and underscores, such as {example}",
        "模型名称，至多 100 个字母、数字、点、连字符和下划线，例如 {example}",
    ),
    "wants_alias": (
        "an alias of a letter and up to 59 letters, digits, dots, dashes and underscores, such as {example}",
        "别名，以字母开头，之后至多 59 个字母、数字、点、连字符和下划线，例如 {example}",
    ),
    "wants_price": (
        "a price from 0 to 9999999 with at most {places} decimal places, such as {example}",
        "价格，0 到 9999999，至多 {places} 位小数，例如 {example}",
    ),
    "wants_version": ("a version such as {example}", "版本，例如 {example}"),
    "wants_packages_line": (
        "a line such as {example} as package {number}",
        "第 {number} 个包写成类似 {example} 的一行",
    ),
    "wants_code": ("one of path, git, store or tree", "path、git、store、tree 之一"),
    "wants_command_or_roles": ("either command or roles", "command 或 roles 其中之一"),
    "wants_max_packages": ("at most {number} packages", "至多 {number} 个包"),
    # whole sentences
    "quoted_text": ("expected text, got {given}; put it in quotes", "应为文本，实际为 {given}；请加引号"),
    "quoted_version": (
        "expected text such as {example}, got the number {given}; put it in quotes",
        "应为文本，例如 {example}，实际为数字 {given}；请加引号",
    ),
    "not_in_code_folder": ("{file} is not in the code folder {folder}", "代码目录 {folder} 中没有 {file}"),
    "unknown_field": ("unknown field of {noun}", "{noun}没有此字段"),
    "unknown_field_one_of": (
        "unknown field of {noun}; expected one of {choices}",
        "{noun}没有此字段；应为以下之一：{choices}",
    ),
    "more_problems": ("there are more; correct these first", "还有其他错误；请先修正这些"),
    "control_characters": (
        "{given} contains control characters or lone surrogates",
        "{given} 含有控制字符或不成对的代理字符",
    ),
    "no_control_characters": (
        "control characters and lone surrogates are not allowed here",
        "此处不允许控制字符和不成对的代理字符",
    ),
    "no_nul": ("NUL characters and lone surrogates are not allowed", "不允许 NUL 字符和不成对的代理字符"),
    "like_job_id": ("{given} looks like a job id; choose another name", "{given} 与任务编号相似；请另选名称"),
    "reserved_variable": (
        "{given} is reserved: names that start with DANLU_ are set by Danlu",
        "{given} 是保留名称：以 DANLU_ 开头的变量由 Danlu 设置",
    ),
    "reserved_name": ("{given} is reserved; choose another name", "{given} 是保留名称；请另选名称"),
    "two_inputs": ("{given} is the target of two inputs", "{given} 是两个输入的目标路径"),
    "outside_data": (
        "{given} is outside of the job's data folder; remove '..'",
        "{given} 位于任务的数据目录之外；请去掉“..”",
    ),
    "login_needs_image": ("image_login needs an image", "image_login 需要同时设置镜像"),
    "also_in_env": ("{given} is also in env; use one of them", "{given} 同时出现在 env 中；请只用其一"),
    "host_ports": (
        "requires network: host; without it, a job has its own network and all of its ports",
        "仅适用于 network: host；任务有独立网络时可使用全部端口",
    ),
    "needs_a_reason": (
        "expected a few words such as {example}",
        "内容为空；请写几个字，例如 {example}",
    ),
    "private_key": (
        "expected the public key (the file that ends in .pub), got a private key; keep that to yourself",
        "应为公钥（以 .pub 结尾的文件），实际为私钥；请妥善保管私钥",
    ),
    "public_key": (
        "expected one line of a .pub file, such as {example}, got {given}",
        "应为 .pub 文件中的一行，例如 {example}，实际为 {given}",
    ),
    "key_damaged": ("the key is damaged: copy the whole line of the .pub file", "密钥不完整：请复制 .pub 文件中的整行"),
    "no_such_flavor": ("no flavor {name}; there are {known}", "没有规格 {name}；可用的有 {known}"),
    "goes_with_token": (
        "goes with a token only; use PUT /me/password to change your password",
        "需与令牌一起使用；修改已知密码请用 PUT /me/password",
    ),
    "job_has_no_bucket": (
        "{bucket} is not a bucket that you may read; `danlu store ls` shows yours",
        "您无权读取存储桶 {bucket}；可用 `danlu store ls` 查看",
    ),
}
