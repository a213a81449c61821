"""Programs that jobs run in these tests: they make system calls by number and say what came of it.

Standard library only, without imports from here: their text is sent to the job.
"""

CALLS = r"""
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == 'aarch64'
def call(name, x86, arm, *args):
    number = arm if ARM else x86
    if number is None:
        return
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(arg & (1 << 64) - 1) for arg in args))
    print(name, errno.errorcode.get(ctypes.get_errno(), '?') if result == -1 else 'allowed', flush=True)
"""

FORBIDDEN = (
    CALLS
    + r"""
call('unshare(NEWUSER)', 272, 97, 0x10000000)
call('unshare(NEWNS)', 272, 97, 0x00020000)
call('clone(NEWUSER)', 56, 220, 0x10000000 | 17, 0, 0, 0, 0)
call('clone(NEWNET)', 56, 220, 0x40000000 | 17, 0, 0, 0, 0)
call('clone3', 435, 435, 0, 0)
call('setns', 308, 268, 0, 0)
call('mount', 165, 40, 0, 0, 0, 0, 0)
call('umount2', 166, 39, 0, 0)
call('pivot_root', 155, 41, 0, 0)
call('fsopen', 430, 430, 0, 0)
call('open_tree', 428, 428, 0, 0, 0)
call('move_mount', 429, 429, 0, 0, 0, 0, 0)
call('mount_setattr', 442, 442, 0, 0, 0, 0, 0)
call('add_key', 248, 217, 0, 0, 0, 0, 0)
call('keyctl', 250, 219, 0, -3, 1)
call('request_key', 249, 218, 0, 0, 0, 0)
call('bpf', 321, 280, 0, 0, 0)
call('ptrace', 101, 117, 0, 0, 0, 0)
call('perf_event_open', 298, 241, 0, 0, 0, 0, 0)
call('userfaultfd', 323, 282, 0)
call('io_uring_setup', 425, 425, 1, 0)
call('open_by_handle_at', 304, 265, 0, 0, 0)
call('kcmp', 312, 272, 1, 1, 0, 0, 0)
call('pidfd_getfd', 438, 438, 0, 0, 0)
call('init_module', 175, 105, 0, 0, 0)
call('kexec_load', 246, 104, 0, 0, 0, 0)
call('reboot', 169, 142, 0, 0, 0, 0)
call('syslog', 103, 116, 3, 0, 0)
call('personality(no randomization)', 135, 92, 0x40000)
call('socket(AF_VSOCK)', 41, 198, 40, 1, 0)
call('socket(AF_ALG)', 41, 198, 38, 5, 0)
call('socket(AF_PACKET)', 41, 198, 17, 3, 0)
call('ioctl(TIOCSTI)', 16, 29, 0, 0x5412, 0)
call('ioctl(TIOCSTI) with high bits', 16, 29, 0, 0x5412 | 1 << 32, 0)
call('a call that is not known', 9999, 9999)
"""
)

NEEDED = (
    CALLS
    + r"""
import fcntl, mmap, multiprocessing, resource, signal, socket, struct, subprocess, tempfile, threading
def tries(name, what):
    try:
        what(); print(name, 'works', flush=True)
    except Exception as error:
        print(name, repr(error), flush=True)
tries('threads', lambda: threading.Thread(target=print, args=('in a thread',)).start())
tries('subprocess', lambda: subprocess.run(['true'], check=True))
tries('multiprocessing', lambda: multiprocessing.get_context('fork').Pool(2).map(abs, [1, -2]))
tries('spawn', lambda: multiprocessing.get_context('spawn').Process(target=print).start())
tries('shared memory', lambda: mmap.mmap(-1, 1 << 20).write(b'x'))
tries('inet', lambda: socket.create_server(('127.0.0.1', 0)))
tries('unix', lambda: socket.socketpair())
tries('netlink', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0)))
tries('names of interfaces', lambda: socket.if_nameindex())
tries('memfd', lambda: os.memfd_create('x'))
tries('affinity', lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
tries('nice', lambda: os.nice(1))
tries('limits', lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
tries('locks', lambda: fcntl.flock(tempfile.TemporaryFile(), fcntl.LOCK_EX))
tries('terminals', lambda: os.openpty())
call('set_mempolicy', 238, 237, 0, 0, 0)
call('personality', 135, 92, 0xFFFFFFFF)
word = ctypes.create_string_buffer(b'read across')
vector = (ctypes.c_ulong * 2)(ctypes.addressof(word), 4)
child = os.fork()
if child == 0:
    signal.pause()
call('process_vm_readv', 310, 270, child, ctypes.addressof(vector), 1, ctypes.addressof(vector), 1, 0)
os.kill(child, 9)
"""
)

OTHER_ABI = r"""
import ctypes, mmap, platform
assert platform.machine() == 'x86_64'
def run(code):
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()
# mov eax, 20 (getpid of i386); int 0x80; ret
print('i386', run(bytes.fromhex('53b814000000cd805bc3')))
# mov eax, 0x40000027 (getpid of x32); syscall; ret
print('x32', run(bytes.fromhex('b8270000400f05c3')))
# the same of x86_64, to see that this works at all
print('x86_64', run(bytes.fromhex('b8270000000f05c3')) > 0)
"""
