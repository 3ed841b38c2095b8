"""Reads what the program itself writes: FLITWISE names it, otherwise it is looked for in PATH."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))

import flitwise  # noqa: E402
from flitwise import FlitwiseError  # noqa: E402

PROGRAM = os.environ.get("FLITWISE") or shutil.which("flitwise")

STUDY = """
name = "tiny study"
seeds = "1..3"
[experiment]
fabric.topology = { kind = "k-ary-n-tree", k = 4, n = 2 }
qos = { preset = "opa-5sl", scheduler = "rr" }
[[experiment.job]]
trace = "TRACE"
sl = "CL"
[[experiment.background]]
sl = "BK"
rate = 0.1
[[axis]]
name = "scheduler used"
key = "qos.scheduler"
values = ["rr", "dtable"]
[[axis]]
name = "rate"
key = "background.0.rate"
values = [0, 0.1]
"""

LOADS = """
seeds = [1, 2]
[experiment]
fabric.topology = { kind = "single", nics = 8 }
background = [{ rate = 1 }]
measure = { loads = [0.2, 0.4], warm_up = "1us", max_warm_up = "1us", batch = "100ns", window = "5us" }
[[axis]]
key = "background.0.pattern"
name = "pattern"
values = ["uniform", "neighbour"]
"""


def run(*args: str) -> str:
    done = subprocess.run([str(PROGRAM), *args], capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{args}: {done.stderr}")
    return done.stdout


@unittest.skipUnless(PROGRAM, "the program is neither in FLITWISE nor in PATH")
class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.held = tempfile.TemporaryDirectory()
        cls.dir = Path(cls.held.name)
        trace = (ROOT / "traces" / "randomaccess-16.vef.gz").as_posix()
        for name, text in (("tiny", STUDY.replace("TRACE", trace)), ("loads", LOADS)):
            (cls.dir / f"{name}.toml").write_text(text)
            run("study", str(cls.dir / f"{name}.toml"), "--out", str(cls.dir / name), "--quiet")
        sample = str(ROOT / "tests" / "corpus" / "results" / "throttled-job.toml")
        run(
            *("run", sample, "--set", "series.interval=20us", "--explain", "--quiet"),
            *("--out", str(cls.dir / "result"), "--timeline", str(cls.dir / "timeline.csv")),
        )
        sample = str(ROOT / "tests" / "corpus" / "results" / "load-levels.toml")
        (cls.dir / "curve.json").write_text(run("run", sample, "--json"))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.held.cleanup()

    def refused(self, words: str, call, *args, **named) -> None:
        with self.assertRaises(FlitwiseError) as raised:
            call(*args, **named)
        self.assertIn(words, str(raised.exception))

    def test_a_study_has_axes_and_typed_tables(self) -> None:
        study = flitwise.load(self.dir / "tiny")
        self.assertEqual(study.name, "tiny study")
        self.assertEqual([axis.column for axis in study.axes], ["scheduler_used", "rate"])
        self.assertEqual(study.axis("scheduler used").labels, ["rr", "dtable"])
        self.assertEqual((len(study.runs), len(study.jobs), len(study.points)), (12, 12, 4))
        row = study.runs.where(scheduler_used="dtable", rate=0.1, seed=2).rows[0]
        self.assertIsInstance(row["execution_time_ps"], int)
        self.assertIsInstance(row["slowdown_ratio"], float)
        self.assertIsInstance(row["record"], str)
        self.assertIsNone(row["reason"])
        self.assertEqual(study.points.units["execution_time_us_mean"], "us")
        self.assertEqual(study.points.units["throughput_gbit_per_s_per_nic_ci95"], "Gb/s per NIC")
        self.assertEqual(study.background["background"], [0] * 12)

    def test_pairs_are_what_the_program_says(self) -> None:
        study = flitwise.load(self.dir / "tiny")
        compared = 0
        for axis in study.axes:
            for pair in study.pairs(axis.name, "slowdown_ratio"):
                wanted = study.differences.where(axis=axis.name, **pair.labels).rows
                self.assertEqual(len(wanted), 1)
                found = pair.difference
                self.assertEqual(found.count, wanted[0]["pairs_count"])
                self.assertAlmostEqual(100 * found.mean, wanted[0]["slowdown_percentage_points_mean"])
                self.assertAlmostEqual(100 * found.ci95, wanted[0]["slowdown_percentage_points_ci95"], places=4)
                compared += 1
        self.assertEqual(compared, 4)
        mean = study.mean("slowdown_ratio", scheduler_used="rr", rate=0.1)
        point = study.points.where(scheduler_used="rr", rate=0.1).rows[0]
        self.assertAlmostEqual(mean.mean, point["slowdown_ratio_mean"])
        against = study.pairs("rate", "execution_time_ps", reference="0.1")
        self.assertEqual({pair.labels["rate"] for pair in against}, {0})

    def test_a_study_of_loads_pairs_load_by_load(self) -> None:
        study = flitwise.load(self.dir / "loads" / "study.json")
        pairs = study.pairs("pattern", "throughput_gbit_per_s_per_nic")
        self.assertEqual([(pair.load, len(pair.seeds)) for pair in pairs], [(0.2, 2), (0.4, 2)])
        wanted = study.differences.rows[0]["throughput_percent_mean"]
        self.assertAlmostEqual(pairs[0].percent.mean, wanted)

    def test_a_result_has_jobs_series_and_an_explanation(self) -> None:
        result = flitwise.load(self.dir / "result")
        self.assertEqual(result.status, "complete")
        job = result.job()
        self.assertEqual(result.job("randomaccess-16"), job)
        self.assertEqual(sum(result.parts().values()), result["execution_time_ps"])
        flows = result.table("flows")
        self.assertEqual(flows.units["gbit_per_s"], "Gb/s")
        self.assertIsNone(flows.rows[0]["load"])
        self.assertEqual(result.table("links").units["waited_ns"], "ns")
        timeline = flitwise.read_table(self.dir / "timeline.csv")
        self.assertIn("compute", timeline["doing"])
        self.assertTrue(all(row["start_ps"] <= row["end_ps"] for row in timeline))

    def test_a_curve_is_a_table(self) -> None:
        curve = flitwise.load(self.dir / "curve.json").curve
        self.assertEqual(len(curve), 10)
        self.assertEqual(curve.units["accepted_gbit_per_s_per_nic"], "Gb/s per NIC")
        self.assertIn("end_to_end_mean_ns", curve.columns)
        load = curve.rows[0]["load"]
        self.assertIsInstance(load, float)
        self.assertEqual(len(curve.where(load=load)), 10 // len(set(curve["load"])))

    def test_what_is_missing_is_named(self) -> None:
        study = flitwise.load(self.dir / "tiny")
        self.refused("no column `schedular`", study.runs.where, schedular="rr")
        self.refused("there are scheduler used, rate", study.axis, "sched")
        self.refused("axis rate has no '0.5'", study.pairs, "rate", "slowdown_ratio", "0.5")
        self.refused("flitwise run --out", flitwise.load, self.dir / "nowhere")
        self.refused("no column `slowdown_ration`; did you mean `slowdown_ratio`?", study.mean, "slowdown_ration")
        self.refused("has numbers, such as 0.0, and '0.1' equals none", study.runs.where, rate="0.1")
        self.refused("is an experiment or a study", flitwise.load, self.dir / "tiny.toml")
        self.refused("or `flitwise study` wrote", flitwise.load, self.dir / "nowhere")
        result = flitwise.load(self.dir / "result")
        self.refused("no key `slow`; did you mean `slowdown`?", result.__getitem__, "slow")
        self.assertIsNone(result.get("slow"))
        self.refused("no table flow.csv", flitwise.load(self.dir / "result").table, "flow")
        self.refused("--explain", flitwise.load(self.dir / "curve.json").explanation)
        other = self.dir / "other.json"
        other.write_text(json.dumps({"schema": "flitwise-result-9"}))
        self.refused("'flitwise-result-1'", flitwise.load, other)
        other.write_text("{")
        self.refused("is no JSON", flitwise.load, other)
        cut = self.dir / "cut.csv"
        cut.write_text("a,b\n1,2\n3\n")
        self.refused("record 3: 1 cells", flitwise.read_table, cut)
        cut.write_text("")
        self.refused("is empty", flitwise.read_table, cut)

    def test_a_cut_table_is_refused_wherever_it_is_cut(self) -> None:
        kept = self.dir / "tiny"
        for name, column in (("runs", "run"), ("points", "point")):
            place = self.dir / "short" / f"{name}.csv"
            place.parent.mkdir(exist_ok=True)
            shutil.copy(kept / "study.json", place.parent)
            text = (kept / place.name).read_text()
            lines = text.splitlines(keepends=True)
            # Within the last cell, at its end, within a line, between two lines, after the header.
            for part in (text[:-2], text[:-1], text[: len(text) // 2], "".join(lines[:3]), lines[0]):
                place.write_text(part)
                self.refused("cut or edited", getattr, flitwise.load(place.parent), name)
            place.write_text(text)
            self.assertEqual(len(set(getattr(flitwise.load(place.parent), name)[column])), len(lines) - 1)

    def test_the_example_runs(self) -> None:
        script = ROOT / "python" / "examples" / "study.py"
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python" / "src"), FLITWISE_STUDY=str(self.dir / "tiny"))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("percentage points", done.stdout)


class Numbers(unittest.TestCase):
    def test_intervals_of_known_values(self) -> None:
        mean = flitwise.mean_ci95([1, 2, 3])
        self.assertAlmostEqual(mean.ci95, 4.302653 / 3**0.5, places=5)
        self.assertFalse(flitwise.mean_ci95([5, 6, 7]).is_tie)
        self.assertTrue(flitwise.mean_ci95([-1, 1]).is_tie)
        self.assertIsNone(flitwise.mean_ci95([1]).ci95)
        # t of 40 and 120 degrees of freedom: 2.021075 and 1.979930.
        for count, quantile in ((41, 2.021075), (121, 1.979930)):
            values = [(-1) ** at for at in range(count)]
            mean = sum(values) / count
            error = (sum((value - mean) ** 2 for value in values) / (count - 1) / count) ** 0.5
            self.assertAlmostEqual(flitwise.mean_ci95(values).ci95 / error, quantile, places=4)

    def test_units_come_from_names(self) -> None:
        for column, unit in {
            "execution_time_us_mean": "us",
            "latency_percent_ci95": "%",
            "accepted_gbit_per_s": "Gb/s",
            "slowdown_percentage_points_mean": "percentage points",
            "runs_count": "number",
            "application": None,
            "waiting_bytes": "B",
        }.items():
            self.assertEqual(flitwise.unit(column), unit, column)


if __name__ == "__main__":
    unittest.main()
