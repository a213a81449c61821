"""What runs on a node beside the user's command. Standard library only, for Python 3.9 and later.

supervise/gang    starts the shims of an attempt, in a private network
supervise/shim    owns one task: stages, starts, watches and stops it, and writes its records
supervise/init    the first process inside the sandbox: starts the command and ends all of its processes
stage/stager      fetches inputs and uploads outputs
probe             tests what this machine supports
"""
