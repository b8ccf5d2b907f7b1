# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Threads in a process of its own: idle, without the GIL, after a fork, at the end of the interpreter."""

from __future__ import annotations

import time

import pytest

from reference.kernels import in_fresh_interpreter

WITHOUT_SLEEP = """
import threading
import numpy as np
import phalanx as px
from phalanx.backends.native import objects, threads
from reference.kernels import arguments
objects.posix = dict  # no function with which threads sleep in machine code
threads._WORTH = 0.0
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
wanted = r.forward_dynamics(*state, threads=1)
good = all(np.array_equal(r.forward_dynamics(*state, threads=3), wanted) for _ in range(30))
print(good, sum(t.name.startswith("phalanx") for t in threading.enumerate()))
"""


def test_workers_wait_in_python_where_they_cannot_sleep_in_machine_code() -> None:
    assert in_fresh_interpreter(WITHOUT_SLEEP) == "True 2"


IDLE = """
import time
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
threads._WORTH = 0.0
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
for _ in range(5):
    r.forward_dynamics(*state, threads=4)
spent = []
for _ in range(50):  # a busy machine may let workers fall asleep late
    begun = time.process_time()
    time.sleep(0.1)
    spent.append(time.process_time() - begun)
    if spent[-1] < 0.002:
        break
print(spent[-1] < 0.002)
"""


def test_workers_without_work_use_no_processor() -> None:
    assert in_fresh_interpreter(IDLE) == "True"


HELD = """
import threading
import time
import numpy as np
import phalanx as px
from phalanx.backends.native import compile, objects, threads
from reference.kernels import arguments
real = objects._address
held = ("PyEval_SaveThread", "PyEval_RestoreThread")  # batches keep the GIL: here these do nothing
nothing = compile.address_in_process("getpid")
objects._address = lambda function: nothing if function.__name__ in held else real(function)
r = px.chain(20)
state = [np.tile(a, (50, 1)) for a in arguments(r, "forward_dynamics", 1000)]
call = lambda: r.forward_dynamics(*state, threads=2)
call()
worker = next(t for t in threading.enumerate() if t.name.startswith("phalanx"))
clock = time.pthread_getcpuclockid(worker.ident)
worked = 0.0
for _ in range(200):  # a busy machine may leave the worker no processor for a whole batch
    time.sleep(0.01)  # it sleeps
    before = time.clock_gettime(clock)
    call()
    worked = max(worked, time.clock_gettime(clock) - before)
    if worked > 1e-3:
        break
print(worked > 1e-3)
"""


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="no clocks of threads here")
def test_workers_wake_and_compute_while_another_thread_holds_the_gil() -> None:
    assert in_fresh_interpreter(HELD) == "True"


ASKED_TOO_MUCH = """
import threading
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
threads._MOST = 3
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
wanted = r.forward_dynamics(*state, threads=1)
plain = r.forward_dynamics(*state, threads=10**30)
turned = r.forward_dynamics(*(a[::-1] for a in state), threads=10**30)
good = np.array_equal(plain, wanted) and np.array_equal(turned, wanted[::-1])
print(good, sum(t.name.startswith("phalanx") for t in threading.enumerate()))
"""


def test_a_huge_number_of_threads_starts_only_some() -> None:
    assert in_fresh_interpreter(ASKED_TOO_MUCH) == "True 3"


AT_THE_END = """
import gc
import sys
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
gc.set_threshold(10**9)
r = px.load("ur5")
state = tuple(a[::-1] for a in arguments(r, "forward_dynamics", 9000))
wanted = r.forward_dynamics(*state, threads=before)
threads._WORTH = 0.0  # whatever the clock says, the last call asks for threads


class Last:
    def __del__(self, print=print, same=np.array_equal, flush=sys.stdout.flush):
        print(same(r.forward_dynamics(*state, threads=3), wanted))
        flush()


last = Last()
last.itself = last  # collected when the interpreter ends, after it has stopped all other threads
del last
"""


@pytest.mark.parametrize("before", [1, 3])
@pytest.mark.parametrize("step", [1, -1])
def test_a_batch_at_the_end_of_the_interpreter_waits_for_nobody(before: int, step: int) -> None:
    # Threads that wait already cannot come any more, and none can start.
    code = AT_THE_END.replace("threads=before", f"threads={before}").replace("[::-1]", f"[::{step}]")
    assert in_fresh_interpreter(code) == "True"


FORK = """
import os
import signal
import time
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
wanted = r.forward_dynamics(*state, threads=4)
threads._called(3)  # every worker of the parent exists and waits
time.sleep(0.1)
child = os.fork()
if child == 0:
    signal.alarm(20)  # not inherited
    good = np.array_equal(r.forward_dynamics(*state, threads=4), wanted)
    good &= np.array_equal(r.mass_matrix(state[0], threads=2), r.mass_matrix(state[0], threads=1))
    good &= np.array_equal(px.load("ur5").forward_dynamics(*state, threads=3), wanted)
    os._exit(0 if good else 1)
status = os.waitpid(child, 0)[1]
assert np.array_equal(r.forward_dynamics(*state, threads=4), wanted)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_computes_with_threads() -> None:
    assert in_fresh_interpreter(FORK) == "0"
