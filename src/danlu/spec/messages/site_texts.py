"""Words of the pages that the server and the proxy make themselves, and of e-mails, in English and Chinese.

They are looked up by their code, never recognised: the console has no use for them.
"""

from __future__ import annotations

from danlu.spec.messages.languages import Words

SITE: Words = {
    # headings
    "sign_in": ("Sign in", "登录"),
    "with_link": ("Sign in with this link", "使用此链接登录"),
    "command_line": ("Command line", "命令行"),
    "signed_in": ("Signed in", "已登录"),
    "waiting": ("Waiting for approval", "等待管理员批准"),
    "no_console": ("The server is running", "服务器正在运行"),
    # signing in
    "link_once": ("The link works once.", "链接只能使用一次。"),
    "new_password": ("New password (optional)", "新密码（选填）"),
    "password_hint": (
        "At least 8 characters. Leave it empty to keep the one you have.",
        "至少 8 个字符。留空则保留现有密码。",
    ),
    "login_link": ("On the command line: {command}", "在命令行中使用：{command}"),
    "with_provider": ("Sign in with {name}", "使用 {name} 登录"),
    "with_password": ("With a password, on the command line: {command}", "在命令行中使用密码登录：{command}"),
    "new_here": ("New here? {command}", "还没有账号？{command}"),
    "short_password": ("A password has at least 8 characters.", "密码至少 8 个字符。"),
    "signed_in_as": ("You are signed in as {name}.", "您已登录为 {name}。"),
    "make_link": ("Create a sign-in link for the command line", "创建命令行登录链接"),
    "made_link": ("It works once, within a day: {command}", "一天内有效，只能使用一次：{command}"),
    "open_console": ("Open the console", "打开控制台"),
    "use_command_line": ("Use the command line", "使用命令行"),
    # a server without a console
    "not_built": (
        "This installation has no console: it was installed from a checkout in which it has not been built. {make} "
        "builds it (Node 20.19 or newer); then start the server again.",
        "此安装不含控制台：安装所用的代码目录中尚未构建控制台。{make} 可构建控制台"
        "（需要 Node 20.19 或更新版本）；然后重新启动服务器。",
    ),
    "works_without": (
        "The command line works without: {first}, {second}. The API is described in {description}.",
        "命令行仍可使用：{first}、{second}。API 的说明见 {description}。",
    ),
    # what a refusal is about, by its status
    "status_401": ("You are not signed in", "未登录"),
    "status_403": ("You don't have access", "没有访问权限"),
    "status_404": ("Not found", "未找到"),
    "status_409": ("Not possible now", "当前无法执行"),
    "status_422": ("This request cannot be used", "请求无效"),
    "status_429": ("Too many requests", "请求过多"),
    "status_501": ("Not supported here", "此处不支持"),
    "status_502": ("No answer from the job", "任务没有响应"),
    "status_503": ("Not available now", "暂时不可用"),
    "status_other": ("This did not work", "请求未完成"),
}

MAIL: Words = {
    "job.succeeded": ("{name} succeeded", "{name} 已成功"),
    "job.failed": ("{name} failed", "{name} 已失败"),
    "job.stopped": ("{name} was stopped", "{name} 已停止"),
    "alert.opened": ("{name} needs attention", "{name} 出现告警"),
    "alert.closed": ("{name} has recovered", "{name} 告警已解除"),
    "run.alert": ("{name} has an alert", "{name} 发出脚本告警"),
    "platform": ("the platform", "平台"),
    "run": ("run: {name} ({id})", "运行：{name}（{id}）"),
    "job": ("job: {name} ({id})", "任务：{name}（{id}）"),
    "state": ("state: {state}", "状态：{state}"),
    "wishes": ("Which e-mails you get is set in your profile: {url}", "接收哪些邮件可在个人资料中设置：{url}"),
}
"""Subjects by kind of event, and the lines of a message."""
