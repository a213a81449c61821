"""What people are refused on pages: signing in with a provider, and endpoints of jobs, in English and Chinese."""

from __future__ import annotations

PAGE_ERRORS: dict[str, tuple[str, str]] = {
    # signing in by OpenID Connect
    "begin_again": (
        "this sign-in was not begun in this browser, or it took too long; begin again",
        "此次登录不是在此浏览器中开始的，或用时过长；请重新登录",
    ),
    "no_id_token": ("the provider sent no id_token; ask an admin", "身份提供方没有返回 id_token；请联系管理员"),
    "not_for_this_sign_in": (
        "what the provider sent is not for this sign-in (its {field} is not the right one)",
        "身份提供方返回的内容不属于此次登录（{field} 不符）",
    ),
    "provider_untrusted": (
        "what the provider sent cannot be trusted: {problem}",
        "身份提供方返回的内容不可信：{problem}",
    ),
    "provider_differs": (
        "{issuer} is not the OpenID Connect provider that its metadata describes",
        "{issuer} 与其元数据描述的 OpenID Connect 身份提供方不一致",
    ),
    "provider_keys": ("the keys of {issuer} cannot be read", "无法读取 {issuer} 的公钥"),
    "provider_silent": (
        "the provider {issuer} does not answer ({problem}); try again",
        "身份提供方 {issuer} 没有响应（{problem}）；请重试",
    ),
    "provider_broken": (
        "the provider {issuer} answers {status}; try again",
        "身份提供方 {issuer} 返回 {status}；请重试",
    ),
    "provider_rejected": (
        "the provider rejected this sign-in; start again",
        "身份提供方拒绝了此次登录；请重新登录",
    ),
    "oidc_needs_package": (
        "signing in by OpenID Connect needs the package {package}",
        "使用 OpenID Connect 登录需要安装包 {package}",
    ),
    "waits_for_admin": (
        "your registration waits for an admin; sign in again once it is approved",
        "您的注册正在等待管理员批准；批准后请重新登录",
    ),
    # endpoints
    "no_endpoint_name": (
        "no endpoint has this name; `danlu open` prints the address of one",
        "没有此名称的访问入口；可用 `danlu open` 获取地址",
    ),
    "not_http": ("this is not a request in HTTP: {problem}", "这不是 HTTP 请求：{problem}"),
    "target_no_path": ("the target of a request: expected a path", "请求的目标：应为路径"),
    "too_many_open": (
        "you have {count} requests to endpoints open, which is the maximum; close some pages",
        "您打开的访问入口请求已达上限 {count} 个；请关闭一些页面",
    ),
    "needs_link": (
        "a link to an endpoint is needed; `danlu open` prints one",
        "需要访问入口的链接；可用 `danlu open` 获取",
    ),
    "wants_own_path": (
        "to: expected a path of this endpoint, got {given}",
        "to：应为此访问入口的路径，实际为 {given}",
    ),
    "port_not_http": (
        "the program on port {number} does not answer in HTTP: {problem}",
        "端口 {number} 上的程序没有以 HTTP 响应：{problem}",
    ),
    "engine_no_ports": (
        "engine {engine} cannot reach the ports of its tasks",
        "引擎 {engine} 无法连接其实例的端口",
    ),
    "engine_no_service": (
        "engine {engine} cannot start {service} in a running task",
        "引擎 {engine} 无法在运行中的实例里启动 {service}",
    ),
    "service_not_started": (
        "{service} cannot be started in {job}: {told}",
        "无法在 {job} 中启动 {service}：{told}",
    ),
    "service_silent": (
        "{service} did not answer within {seconds} s; see {file} in {job} (`danlu exec`)",
        "{service} 在 {seconds} 秒内没有响应；请查看 {job} 中的 {file}（`danlu exec`）",
    ),
}
