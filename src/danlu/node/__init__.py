"""What runs on a node beside the user's command. Standard library only, and nothing newer than Python 3.9.

supervise/gang    starts the shims of an attempt, in a network of their own
supervise/shim    owns one task: stages, starts, watches, stops, and keeps its record
supervise/init    the first process inside the sandbox: starts the command and ends all of its processes
stage/stager      fetches inputs and uploads outputs
probe             tries what this machine can do
"""
