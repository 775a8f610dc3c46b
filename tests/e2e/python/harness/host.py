"""A host of the test's own: a network namespace whose only address is not a loopback address.

As a program, `unshare --net python host.py ADDRESS COMMAND...`: gives this namespace the address and
becomes the command."""

import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
IFF_UP = 1


def wrapper(address):
    """The words to put before a command so that it runs on a host with this address."""
    return ["unshare", "--net", sys.executable, __file__, address]


def run_beside(pid, *command):
    """The output of a command that runs on the host of a process."""
    done = subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", *command], text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def can_be_made():
    return subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0


def bring_up(name, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFADDR, struct.pack(
            "16sHH4s8x", name.encode(), socket.AF_INET, 0, socket.inet_aton(address)))
        flags = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh22x", name.encode(), 0))
        flags = struct.unpack_from("16sh", flags)[1] | IFF_UP
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", name.encode(), flags))


if __name__ == "__main__":
    bring_up("lo", "127.0.0.1")
    bring_up("lo:1", sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
