"""The error that scripts for tikit catch."""

from __future__ import annotations

from typing import Optional


class TencentCloudSDKException(Exception):
    """`code` is None if the call was rejected before a request was sent."""

    def __init__(
        self, code: Optional[str] = None, message: Optional[str] = None, requestId: Optional[str] = None
    ) -> None:
        super().__init__(code, message, requestId)
        self.code = code
        self.message = message
        self.requestId = requestId

    def __str__(self) -> str:
        return f"[TencentCloudSDKException] code:{self.code} message:{self.message} requestId:{self.requestId}"

    def get_code(self) -> Optional[str]:
        return self.code

    def get_message(self) -> Optional[str]:
        return self.message

    def get_request_id(self) -> Optional[str]:
        return self.requestId
