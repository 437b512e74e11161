# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts, threads, and how a process may end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import unittest

import numpy as np
import portops


class ContextsTest(unittest.TestCase):
    def test_what_it_says(self) -> None:
        context = portops.context(backend="serial", deterministic=True, math="tf32", products="own", stream=0)
        self.assertEqual(
            (context.backend, context.deterministic, context.math, context.products, context.stream),
            ("serial", True, "tf32", "own", 0),
        )
        empty = portops.context()
        self.assertEqual([empty.backend, empty.deterministic, empty.math, empty.products, empty.stream], [None] * 5)

    def test_what_is_refused(self) -> None:
        for option, values in (
            ("backend", "'cuda', 'openmp', 'serial'"),
            ("math", "'ieee', 'tf32'"),
            ("products", "'automatic', 'own', 'kokkos_kernels'"),
        ):
            with self.assertRaisesRegex(portops.Error, f"{option} is 'fast', expected one of {values}"):
                portops.context(**{option: "fast"})
        with self.assertRaises(TypeError):
            portops.context("serial")
        missing = next((name for name in ("cuda", "openmp", "serial") if name not in portops.backends()), None)
        if missing:
            with self.assertRaisesRegex(portops.Error, f"this build has no backend {missing}"):
                portops.add(np.zeros(3), 1.0, context=portops.context(backend=missing))

    def test_inner_contexts_keep_what_they_do_not_say(self) -> None:
        """Deterministic products by Kokkos Kernels are refused, which shows what a call was told."""
        x = np.ones((1, 2, 3, 3))
        arguments = (x, np.zeros((1, 2, 3, 3)), np.ones((2, 2, 1, 1)))
        kernels = portops.context(products="kokkos_kernels")
        refused = "deterministic|without Kokkos Kernels"
        with portops.context(deterministic=True) as outer:
            self.assertTrue(outer.deterministic)
            portops.deform_conv2d(*arguments)
            with kernels:
                with self.assertRaisesRegex(portops.Error, refused):
                    portops.deform_conv2d(*arguments)
            with self.assertRaisesRegex(portops.Error, refused):
                portops.deform_conv2d(*arguments, context=kernels)
            portops.deform_conv2d(*arguments)

    def test_contexts_end_with_their_block(self) -> None:
        x = np.ones((1, 2, 3, 3))
        arguments = (x, np.zeros((1, 2, 3, 3)), np.ones((2, 2, 1, 1)))
        with self.assertRaises(ZeroDivisionError):
            with portops.context(deterministic=True, products="kokkos_kernels"):
                raise ZeroDivisionError
        portops.deform_conv2d(*arguments)

    def test_contexts_are_of_their_thread(self) -> None:
        seen = []

        def call() -> None:
            portops.deform_conv2d(np.ones((1, 1, 2, 2)), np.zeros((1, 2, 2, 2)), np.ones((1, 1, 1, 1)))
            seen.append(True)

        with portops.context(deterministic=True, products="kokkos_kernels"):
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()
        self.assertEqual(seen, [True])

    def test_threads(self) -> None:
        """Many calls at a time, on every host backend: each thread gets its own results."""
        wrong = []

        def call(number: int, backend: str) -> None:
            context = portops.context(backend=backend)
            x = np.full((50, 7), float(number))
            for _ in range(200):
                out = portops.multiply(portops.add(x, 1.0, context=context), x, context=context)
                norm = portops.p_norm(x, axis=1, context=context)
                if not ((out == number * (number + 1)).all() and np.allclose(norm, number * 7**0.5)):
                    wrong.append(number)

        backends = [name for name in portops.backends() if name != "cuda"]
        threads = [threading.Thread(target=call, args=(n, backends[n % len(backends)])) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_other_threads_run_during_a_call(self) -> None:
        if (os.cpu_count() or 1) < 2:
            self.skipTest("one processor")
        ended = threading.Event()
        turns = 0

        def call() -> None:
            x = np.ones((400, 400, 50))
            for _ in range(3):
                portops.p_norm(x, 2.5, context=portops.context(backend=portops.backends()[-1]))
            ended.set()

        thread = threading.Thread(target=call)
        thread.start()
        while not ended.is_set():
            turns += 1
        thread.join()
        self.assertGreater(turns, 100)

    def test_devices(self) -> None:
        devices = portops.devices()
        self.assertEqual([device["backend"] for device in devices], portops.backends())
        self.assertTrue(all(device["memory_bytes"] > 0 and device["concurrency"] > 0 and device["name"] for device in devices))


class ProcessesTest(unittest.TestCase):
    def runs(self, program: str, expected: str = "") -> None:
        """The program ends with 0, prints what is expected, and complains of nothing."""
        done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr.strip()), (0, expected, ""))

    def test_leaving_without_a_farewell(self) -> None:
        for end in ("", "sys.exit(0)", "os._exit(0)", "kept = out, portops", "del portops, sys.modules['portops']"):
            with self.subTest(end=end):
                self.runs(f"""
                    import os, sys
                    import numpy as np
                    import portops
                    levels = portops.Levels([[0, 1, 3]])
                    ragged = portops.Ragged(np.ones((3, 2)), levels)
                    out = portops.sequence_pool(ragged)
                    context = portops.context(deterministic=True).__enter__()
                    {end}
                """)

    def test_leaving_while_a_thread_calls(self) -> None:
        self.runs("""
            import threading
            import numpy as np
            import portops
            def call():
                while True:
                    portops.add(np.ones(100), 1.0)
            portops.add(np.ones(100), 1.0)
            threading.Thread(target=call, daemon=True).start()
        """)

    def test_importing_alone(self) -> None:
        self.runs("import portops, sys; print('torch' in sys.modules, 'jax' in sys.modules)", "False False")

    def test_a_fork_of_a_process_that_computed(self) -> None:
        self.runs(
            """
            import os
            import numpy as np
            import portops
            portops.add(np.ones(3), 1.0)
            child = os.fork()
            if child == 0:
                try:
                    portops.add(np.ones(3), 1.0)
                except portops.Error as error:
                    assert "forked" in str(error)
                    os._exit(7)
                os._exit(1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), portops.add(np.ones(1), 1.0)[0])
            """,
            "7 2.0",
        )

    def test_a_fork_before_the_first_call(self) -> None:
        self.runs(
            """
            import os
            import numpy as np
            import portops
            child = os.fork()
            print(portops.add(np.ones(1), 1.0)[0], flush=True)
            if child:
                os.waitpid(child, 0)
            """,
            "2.0\n2.0",
        )

    def test_multiprocessing(self) -> None:
        self.runs(
            """
            import multiprocessing
            import numpy as np
            import portops

            if __name__ == "__main__":
                portops.add(np.ones(3), 1.0)
                with multiprocessing.get_context("forkserver").Pool(2) as pool:
                    print(sum(pool.map(len, [[1], [2, 3]])))
            """,
            "3",
        )


if __name__ == "__main__":
    unittest.main()
