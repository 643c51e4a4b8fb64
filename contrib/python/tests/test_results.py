"""Reads the folder that ``LOADLINE_RUN`` names: a recovery study's, with a baseline and at least two repeats."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import loadline_results as lr  # noqa: E402

RUN = os.environ.get("LOADLINE_RUN")


@unittest.skipUnless(RUN, "LOADLINE_RUN names no folder")
class OfARun(unittest.TestCase):
    def setUp(self):
        self.run_ = lr.read(RUN)

    def test_setups_and_figures(self):
        run = self.run_
        self.assertEqual((run.kind, run.is_real), ("recovery", False))
        baseline = run["baseline"]
        self.assertIsNone(baseline.get("recovery/seconds"))
        self.assertGreater(baseline["client/iops"], 0)
        with self.assertRaises(KeyError):
            run["nobody"]

    def test_intervals_are_around_the_mean(self):
        for setup in self.run_:
            mean, half_width = setup.interval("client/iops")
            self.assertAlmostEqual(mean, setup["client/iops"], places=6)
            self.assertGreaterEqual(half_width, 0)

    def test_rows_and_series(self):
        rows = self.run_.figures()
        self.assertEqual({row.setup for row in rows}, {setup.name for setup in self.run_})
        series = self.run_["baseline"].series
        self.assertEqual(len(series["t_s"]), len(series["client_iops"]))
        json.dumps([vars(row) for row in rows])

    def test_frames_where_somebody_makes_them(self):
        for library in ("pandas", "polars"):
            try:
                __import__(library)
            except ImportError:
                continue
            frame = self.run_.figures_frame(library)
            self.assertEqual(len(frame), len(self.run_.figures()))
            self.assertGreater(len(self.run_["baseline"].series_frame(library)), 0)
        with self.assertRaises(ValueError):
            self.run_.figures_frame("abacus")

    def test_statements_tell_what_fails(self):
        for statement in self.run_.failing():
            self.assertIs(statement.holds, False)
            self.assertTrue(statement.text)


class OfOthers(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            if text is not None:
                (Path(folder) / "results.json").write_text(text, encoding="utf-8")
            return lr.read(folder)

    def test_what_is_no_result_is_refused(self):
        self.assertRaises(lr.NoResult, self.read, None)
        self.assertRaises(lr.NoResult, self.read, "half an obj")
        self.assertRaises(lr.UnknownVersion, self.read, "[]")
        self.assertRaises(lr.UnknownVersion, self.read, '{"version": 99}')

    def test_t(self):
        self.assertAlmostEqual(lr._student_t(2), 4.3027, places=4)
        self.assertAlmostEqual(lr._student_t(30), 2.0423, places=4)
        self.assertAlmostEqual(lr._student_t(60), 2.0003, places=3)
        self.assertAlmostEqual(lr._student_t(1000), 1.9623, places=3)


if __name__ == "__main__":
    unittest.main()
