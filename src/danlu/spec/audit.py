"""What is noted of changes: the words of the audit trail."""

from __future__ import annotations

from danlu.spec.states import Word


class Action(Word):
    """What somebody did. The part before the dot is the kind of thing it was done to."""

    BUCKET_DELETE = "bucket.delete"
    BUCKET_MAKE = "bucket.make"
    BUCKET_MOVE = "bucket.move"
    JOB_DELETE = "job.delete"
    JOB_ENTER = "job.enter"
    JOB_PAUSE = "job.pause"
    JOB_RESUME = "job.resume"
    JOB_START = "job.start"
    JOB_STOP = "job.stop"
    JOB_SUBMIT = "job.submit"
    KEY_DELETE = "key.delete"
    KEY_MAKE = "key.make"
    MEMBER_REMOVE = "member.remove"
    MEMBER_SET = "member.set"
    OBJECT_DELETE = "object.delete"
    OBJECT_PUT = "object.put"
    PROJECT_CHANGE = "project.change"
    PROJECT_DELETE = "project.delete"
    PROJECT_MAKE = "project.make"
    QUOTA_SET = "quota.set"
    REGISTRATION_APPROVE = "registration.approve"
    REGISTRATION_MAKE = "registration.make"
    REGISTRATION_REJECT = "registration.reject"
    SESSION_CLOSE = "session.close"
    SESSION_OPEN = "session.open"
    USER_CHANGE = "user.change"
    USER_DISABLE = "user.disable"
    USER_ENABLE = "user.enable"
    USER_INVITE = "user.invite"
    USER_LINK = "user.link"
    USER_PASSWORD = "user.password"
