"""What Windows does not have is used only where somebody has thought of it. Nothing was ever run there."""

import ast

from tests.house.tree import imports, modules, named, nodes

POSIX_ONLY = {
    "os": {
        "O_CLOEXEC",
        "O_NONBLOCK",
        "O_NOFOLLOW",
        "O_DIRECTORY",
        "fchmod",
        "fork",
        "geteuid",
        "getuid",
        "getpgid",
        "killpg",
    }
    | {"mkfifo", "pread", "pwrite", "register_at_fork", "setsid", "statvfs", "uname", "WNOHANG"},
    "select": {"poll", "POLLIN", "POLLOUT", "PIPE_BUF", "epoll", "kqueue"},
    "signal": {"SIGKILL", "SIGHUP", "SIGALRM", "SIGCHLD", "SIGUSR1", "alarm", "setitimer", "pthread_sigmask"},
    "socket": {"AF_UNIX", "SO_PEERCRED"},
}
MODULES = {"fcntl", "grp", "pwd", "resource", "termios"}

# Where it is used, and what keeps it from being reached on Windows.
GUARDED = {
    "cli/door.py": {"os.getuid"},  # hasattr
    "code/worker.py": {"fcntl", "resource", "select.poll"},  # sys.platform, ImportError
    "forking.py": {"os.register_at_fork"},  # hasattr
    "deadline.py": {"signal.SIGALRM", "signal.alarm"},  # hasattr
    "hooks/sockets.py": {"os.geteuid", "socket.AF_UNIX", "socket.SO_PEERCRED"},  # is_offered, hasattr
    "project/locate.py": {"fcntl", "os.getuid"},  # sys.platform, hasattr
    "server/front.py": {
        *("fcntl", "select.PIPE_BUF", "termios"),  # sys.platform, is_watchable
        *("select.POLLIN", "select.POLLOUT", "select.poll"),  # is_watchable
    },
    "server/pipes.py": {"select.POLLOUT", "select.poll"},  # is_watchable
    "places.py": {"os.geteuid"},  # hasattr
    "store/file/connect.py": {"os.statvfs", "resource"},  # hasattr
    "store/file/commit_marker.py": {"os.pread", "os.pwrite"},  # hasattr
}


def test_what_windows_lacks_is_used_only_behind_a_guard():
    found = {}
    for path in modules():
        used = {
            f"{node.value.id}.{node.attr}"
            for node in nodes(path)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in POSIX_ONLY.get(node.value.id, ())
        }
        used |= imports(path) & MODULES
        if used:
            found[named(path)] = used
    assert found == GUARDED
