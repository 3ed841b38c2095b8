# %% [markdown]
# # What does a scheduler give? A study, read and compared
#
# Cells begin with `# %%`: Jupyter (with jupytext), VS Code and Spyder show this file as a notebook, and
# `python3 python/examples/study.py` runs it. First the study, half a minute on two cores:
#
#     flitwise study configs/studies/scheduler.toml

# %%
import os

import flitwise

study = flitwise.load(os.environ.get("FLITWISE_STUDY", "scheduler.study"))
print(study)
for axis in study.axes:
    print(f"  {axis.name}: {', '.join(axis.labels)} (compared with {axis.reference})")

# %% [markdown]
# A table is a list of rows with typed cells. Units come from the names of the columns.

# %%
print(f"\nunits: {study.points.units}")
for row in study.points.rows[:5]:
    labels = ", ".join(str(row[axis.column]) for axis in study.axes)
    print(f"  {labels}: {row['slowdown_ratio_mean']:.4f} ± {row['slowdown_ratio_ci95']:.4f}")

# %% [markdown]
# The same seed has the same placement and the same background traffic, so differences are taken seed by seed.

# %%
first = study.axes[0] if "scheduler" not in [axis.name for axis in study.axes] else study.axis("scheduler")
print(f"\n{first.name} against {first.reference}, slowdown in percentage points:")
pairs = study.pairs(first.name, "slowdown_ratio")
for pair in pairs:
    labels = ", ".join(str(label) for label in pair.labels.values())
    points = flitwise.mean_ci95(100 * (value - other) for _, value, other in pair.seeds)
    print(f"  {labels}: {points.mean:+.2f} ± {points.ci95:.2f}{'  (a tie)' if points.is_tie else ''}")

# %% [markdown]
# A figure, where matplotlib is installed: the slowdown over the last axis, a line per setting of the others.

# %%
try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    print("\nno figure without matplotlib")
else:
    *others, last = study.axes
    lines = {}
    for row in study.points:
        lines.setdefault(tuple(str(row[axis.column]) for axis in others), []).append(row)
    figure, axes = pyplot.subplots()
    for name, rows in lines.items():
        x = [row[last.column] for row in rows]
        y = [row["slowdown_ratio_mean"] for row in rows]
        axes.errorbar(x, y, [row["slowdown_ratio_ci95"] for row in rows], capsize=3, label=", ".join(name))
    axes.set_xlabel(last.name)
    axes.set_ylabel("slowdown")
    axes.legend(fontsize="x-small")
    figure.savefig(study.path / "slowdown.svg")
    print(f"\nwrote {study.path / 'slowdown.svg'}")
