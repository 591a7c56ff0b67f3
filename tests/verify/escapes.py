"""Ways out of a confinement, each a few lines of Python that run inside it; tests/verify/test_confinement.py looks at what they reached.

An escape may use: OUTSIDE, a folder of its own with `file` and `folder/`, which was not granted; GRANTED, the same, granted for reading;
TCP and UDP, ports that listen; STREAM, DATAGRAM and ABSTRACT, sockets of a service; VICTIM, a process; HOME, the user's home; SECRET, what
stands in what must not be read; BESIDE and COPY, the folder of the script, with the links that tests/verify/links.py made in it, and its copy.
It reached something when it sets `got` to what it must not have (of READS: when SECRET is in it), or when
something outside has changed.
"""

from __future__ import annotations

from tests.verify.links import PATHS_OUT

PRELUDE = """
import ctypes, ctypes.util, errno, json, mmap, os, signal, socket, sqlite3, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
got = None

def call(*arguments):
    result = libc.syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def sh(command):
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True)
    return done.stdout
"""

NETWORK = {
    "connect over TCP": "socket.create_connection(('127.0.0.1', TCP), 2); got = 'connected'",
    "connect over IPv6": "socket.create_connection(('::1', TCP6), 2); got = 'connected'",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)); got = 'sent'",
    "listen on a port": "s = socket.socket(); s.bind(('0.0.0.0', 0)); s.listen(); got = SHARED_NETWORK and 'listening'",
    "connect in a child process": (
        "done = subprocess.run([sys.executable, '-I', '-c', f'import socket; socket.create_connection((\"127.0.0.1\", {TCP}), 2)'],"
        " capture_output=True); got = not done.returncode and 'connected'"
    ),
    "connect from a shell": "got = 'connected' if 'yes' in sh(f'exec 3<>/dev/tcp/127.0.0.1/{TCP} && echo yes') else None",
    "connect through libc": (
        "s = libc.socket(2, 1, 0); a = struct.pack('=HHI8x', 2, socket.htons(TCP), 0x0100007f)\n"
        "got = 'connected' if s >= 0 and libc.connect(s, a, 16) == 0 else None"
    ),
    "connect to a service's socket": "s = socket.socket(socket.AF_UNIX); s.connect(STREAM); got = 'connected'",
    "connect to an abstract socket": "s = socket.socket(socket.AF_UNIX); s.connect(ABSTRACT); got = 'connected'",
    "send from a pair of sockets": ("a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', DATAGRAM); got = 'sent'"),
    "ask the kernel for interfaces": (
        "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0)); got = SHARED_NETWORK and 'netlink'"
    ),
    "open a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); got = SHARED_NETWORK and 'packets'",
    "open a VM socket": "socket.socket(40, socket.SOCK_STREAM); got = 'vsock'",
    "set up io_uring": "got = call(425, 4, ctypes.create_string_buffer(256)) and 'io_uring'",
    "curl": "got = 'connected' if 'yes' in sh(f'curl -s -m 2 http://127.0.0.1:{TCP}/ ; [ $? = 52 -o $? = 28 ] && echo yes') else None",
}

WRITES = {
    "write a file": "open(f'{OUTSIDE}/file', 'w').write('x')",
    "write a file from a shell": "sh(f'echo x > {OUTSIDE}/file')",
    "remove with rm": "sh(f'rm -rf {OUTSIDE}/folder {OUTSIDE}/file')",
    "open through libc": "d = libc.open(f'{OUTSIDE}/file'.encode(), os.O_WRONLY | os.O_TRUNC); libc.write(d, b'x', 1)",
    "remove by descriptor": "d = os.open(OUTSIDE, os.O_PATH); os.unlink('file', dir_fd=d)",
    "create by descriptor": "d = os.open(OUTSIDE, os.O_PATH); os.open('new', os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=d)",
    "make a pipe with a name": "os.mkfifo(f'{OUTSIDE}/pipe')",
    "make a folder": "os.mkdir(f'{OUTSIDE}/new')",
    "make a database": "sqlite3.connect(f'{OUTSIDE}/new.db').execute('create table t(x)')",
    "rename": "os.rename(f'{OUTSIDE}/file', f'{OUTSIDE}/other')",
    "rename through libc": "libc.rename(f'{OUTSIDE}/file'.encode(), f'{OUTSIDE}/other'.encode())",
    "move in": "os.rename(f'{OUTSIDE}/file', 'stolen')",
    "move out": "open('mine', 'w').write('x'); os.rename('mine', f'{OUTSIDE}/mine')",
    "write through a hard link": "os.link(f'{OUTSIDE}/file', 'linked'); open('linked', 'w').write('x')",
    "write through a hard link to what may be read": "os.link(f'{GRANTED}/file', 'linked2'); open('linked2', 'w').write('x')",
    "write through a symbolic link": "os.symlink(f'{OUTSIDE}/file', 'symbolic'); open('symbolic', 'w').write('x')",
    "write what may be read": "open(f'{GRANTED}/file', 'w').write('x')",
    "reopen for writing": "d = os.open(f'{GRANTED}/file', os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{d}', os.O_WRONLY), b'x')",
    "map for writing": "d = os.open(f'{OUTSIDE}/file', os.O_RDWR); m = mmap.mmap(d, 4); m[0] = 1; m.flush()",
    "cut short": "os.truncate(f'{OUTSIDE}/file', 0)",
    "cut short while opening": "os.open(f'{GRANTED}/file', os.O_RDONLY | os.O_TRUNC)",
    "change the mode": "os.chmod(f'{OUTSIDE}/file', 0o777)",
    "change the mode of what is open": "d = os.open(f'{GRANTED}/file', os.O_RDONLY); os.fchmod(d, 0o777)",
    "change the mode from a shell": "sh(f'chmod -R 777 {OUTSIDE}')",
    "change the owner": "os.chown(f'{OUTSIDE}/file', 1, 1)",
    "change the times": "os.utime(f'{OUTSIDE}/file', (1, 1))",
    "change the times of what is open": "d = os.open(f'{GRANTED}/file', os.O_RDONLY); os.utime(d, (1, 1))",
    "set an attribute": "os.setxattr(f'{OUTSIDE}/file', 'user.x', b'x')",
    "write shared memory": "open(f'/dev/shm/{TAG}', 'w').write('x'); got = SHARED_FILES and 'written'",
    "write to /tmp": "open(f'/tmp/{TAG}', 'w').write('x')",
    "write to the home folder": "open(f'{HOME}/{TAG}', 'w').write('x')",
    "write to Python's packages": "open(os.path.join(os.path.dirname(os.__file__), TAG), 'w').write('x'); got = 'written'",
    "set what runs after a crash": "open('/proc/sys/kernel/core_pattern', 'r+'); got = 'opened'",
    "press the system's keys": "os.open('/proc/sysrq-trigger', os.O_WRONLY); got = 'opened'",
    "leave its control group": "os.open('/sys/fs/cgroup/cgroup.procs', os.O_WRONLY); got = 'opened'",
    "mount over": "got = call(165, b'none', f'{OUTSIDE}/folder'.encode(), b'tmpfs', 0, 0) == 0 and 'mounted'",
    "mount again for writing": "got = call(165, b'none', b'/usr', b'none', 32 | 4096, 0) == 0 and 'mounted'",
    "make a device": "os.mknod('disk', 0o60600, os.makedev(8, 0)); got = 'made'",
    "make a namespace": "got = call(272, 0x10000000) == 0 and 'made'",
    "clone into a namespace": "got = call(56, 0x10000000 | 17, 0, 0, 0, 0) and 'made'",
    "write to a terminal": "open(TERMINAL, 'w').write('x'); got = 'written'",
    "a file in memory": "os.memfd_create('x'); got = 'made'",
    "fill the disk": "d = os.open('large', os.O_CREAT | os.O_WRONLY); os.ftruncate(d, 1 << 40); got = 'filled'",
}

READS = {
    "read a file": "got = open(f'{OUTSIDE}/file').read()",
    "read a file from a shell": "got = sh(f'cat {OUTSIDE}/file')",
    "read through a symbolic link": "os.symlink(f'{OUTSIDE}/file', 'pointer'); got = open('pointer').read()",
    "list a folder": "got = 'file' in os.listdir(OUTSIDE) and SECRET",
    "read the environment": "got = SECRET if SECRET in os.environ.values() else None",
    "read the parent's environment": "got = open(f'/proc/{VICTIM}/environ').read()",
    "read every environment": "got = sh('cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null').replace(chr(0), ' ')",
    "read every command line": "got = sh('cat /proc/*/cmdline 2>/dev/null')",
    "read through the parent's root": "got = open(f'/proc/{VICTIM}/root{OUTSIDE}/file').read()",
    "read through the parent's folder": "got = open(f'/proc/{VICTIM}/cwd/file').read()",
    "read through the first process's root": "got = open(f'/proc/1/root{OUTSIDE}/file').read()",
    "read through its own root": "got = open(f'/proc/self/root{OUTSIDE}/../{os.path.basename(OUTSIDE)}/file').read()",
    "read the keys of the user's home": "got = open(f'{HOME}/.{TAG}/token').read()",
    "read passwords": "got = open('/etc/shadow').read() and SECRET",
    "read the kernel's keys": "call(250, 0, -3, 1); got = SECRET",
    "read shared memory": "got = open(SHARED_MEMORY).read()",
    "read other memory": "b = ctypes.create_string_buffer(8); call(310, VICTIM, ctypes.byref(b), 1, ctypes.byref(b), 1, 0); got = SECRET",
    "open by handle": "h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136); call(303, -100, b'/', h, ctypes.byref(ctypes.c_int()), 0);"
    " got = SECRET",
}

READS |= {
    f"read through {link}": (
        "got = ''\n"
        "for place in (BESIDE, COPY):\n"
        "    try:\n"
        f"        got += open(f'{{place}}/{path}').read()\n"
        "    except OSError:\n"
        "        pass\n"
    )
    for link, path in PATHS_OUT.items()
}
READS |= {
    "list a folder through a link beside the script": (
        "for place in (BESIDE, COPY):\n    try:\n        got = 'file' in os.listdir(f'{place}/folder') and SECRET\n    except OSError:\n        pass\n"
    ),
    "read through a link to a folder made as it runs": "os.symlink(OUTSIDE, 'to-folder'); got = open('to-folder/file').read()",
    "read through a link to the root made as it runs": "os.symlink('/', 'to-root'); got = open(f'to-root{OUTSIDE}/file').read()",
    "read through a chain of links made as it runs": (
        "os.symlink('second', 'first'); os.symlink(f'{OUTSIDE}/file', 'second'); got = open('first').read()"
    ),
    "read through a relative link made as it runs": "os.symlink(os.path.relpath(f'{OUTSIDE}/file'), 'relative'); got = open('relative').read()",
    "read through a link of the copy that it replaces": (
        "os.unlink(f'{COPY}/inside'); os.symlink(f'{OUTSIDE}/file', f'{COPY}/inside'); got = open(f'{COPY}/inside').read()"
    ),
    "replace a folder that may be read by a link": (
        "os.rename(f'{BESIDE}/sub', f'{BESIDE}/gone'); os.symlink(OUTSIDE, f'{BESIDE}/sub'); got = open(f'{BESIDE}/sub/file').read()"
    ),
    "read up from a folder that may be read": "d = os.open(f'{BESIDE}/sub', os.O_RDONLY); got = os.fdopen(os.open('../.env', 0, dir_fd=d)).read()",
}

PROCESSES = {
    "kill": "os.kill(VICTIM, signal.SIGKILL)",
    "kill the keeper": "os.kill(KEEPER, signal.SIGKILL) if KEEPER > 1 else None",
    "kill from a shell": "sh(f'kill -9 {VICTIM}')",
    "kill through a descriptor": "d = os.pidfd_open(VICTIM); signal.pidfd_send_signal(d, signal.SIGKILL)",
    "kill through a thread": "call(234, VICTIM, VICTIM, 9)",
    "kill all": "signal.signal(signal.SIGUSR1, signal.SIG_IGN); os.kill(-1, signal.SIGUSR1)",
    "trace": "got = call(101, 16, VICTIM, 0, 0) == 0 and 'attached'",
    "limit": "import resource; resource.prlimit(VICTIM, resource.RLIMIT_CPU, (1, 1)); got = 'limited'",
    "slow down": "os.setpriority(os.PRIO_PROCESS, VICTIM, 19); got = 'slowed'",
    "become root": "got = 'root' if os.getuid() and 'uid=0' in sh('sudo -n id; su -c id </dev/null') else None",
    "leave a daemon": (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        nothing = os.open('/dev/null', os.O_RDWR); [os.dup2(nothing, n) for n in (0, 1, 2)]\n"
        "        os.execve('/bin/sleep', ['sleep', DAEMON], {})\n"
        "    os._exit(0)\n"
    ),
    "leave a stubborn daemon": (
        "if os.fork() == 0:\n"
        "    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "    if os.fork() == 0:\n"
        "        os.execve('/bin/sleep', ['sleep', DAEMON], {})\n"
        "    os._exit(0)\n"
    ),
}

ESCAPES = {
    **{f"network: {name}": code for name, code in NETWORK.items()},
    **{f"writes: {name}": code for name, code in WRITES.items()},
    **{f"reads: {name}": code for name, code in READS.items()},
    **{f"processes: {name}": code for name, code in PROCESSES.items()},
}

RUNNER = """
import json, os, signal, sys
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
asked = json.load(open(sys.argv[1]))
keeper = os.getppid()
for name, one in asked["escapes"].items():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(10)
        names = dict(one["names"], KEEPER=keeper)
        said = {"name": name}
        try:
            exec(asked["prelude"] + one["code"], names)
            got = str(names["got"] or "")
            said["got"] = names["SECRET"] if names["SECRET"] in got else got[:200]
        except BaseException as error:
            said["error"] = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(said).encode())
        os._exit(0)
    os.close(write)
    text = b""
    while chunk := os.read(read, 65536):
        text += chunk
    os.close(read)
    os.waitpid(child, 0)
    print("SAID " + (text.decode() or json.dumps({"name": name, "error": "ended"})), flush=True)
print("ALL DONE", flush=True)
"""
