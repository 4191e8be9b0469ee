"""terminal.py ANSWER COMMAND [ARGS..]: runs COMMAND behind a terminal of 80 columns and 60
rows whose cells have 8 x 16 pixels. It answers ANSWER when it is asked what it is. Prints
what is shown, byte for byte, and ends with the exit code of COMMAND."""

import fcntl
import os
import pty
import struct
import sys
import termios

QUESTION = b"\033[c"
SIZE = struct.pack("HHHH", 60, 80, 80 * 8, 60 * 16)


def main(answer, *command):
    begin, wait = os.pipe()  # until the terminal is as it should be
    pid, terminal = pty.fork()
    if pid == 0:
        os.close(wait)
        os.read(begin, 1)
        os.execvp(command[0], command)
    mode = termios.tcgetattr(terminal)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, mode)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, SIZE)
    os.close(begin)
    os.close(wait)
    shown = b""
    asked = False
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # EIO: nobody has it open
            break
        if not more:
            break
        shown += more
        if not asked and QUESTION in shown:
            asked = True
            os.write(terminal, os.fsencode(answer))
    sys.stdout.buffer.write(shown)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


sys.exit(main(*sys.argv[1:]))
