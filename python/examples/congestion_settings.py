"""The table of docs/evidence/congestion-control.md, "How to set them", from its study:

    flitwise study configs/studies/congestion-settings.toml
    python3 python/examples/congestion_settings.py congestion-settings.study

Flow 0 is the victim, flows 1 to 4 are the contributors. A cell has the payload of the victim in Gb/s, Jain's index of
the contributors, and the share of the bottleneck that they use, means over the seeds.
"""

import sys
from collections import defaultdict

import flitwise

#: Payload of a packet over its length with headers, and the payload that a NIC of the test bed takes in Gb/s.
PAYLOAD, NIC = 2048 / 2074, 13.1


def main(directory: str) -> None:
    study = flitwise.load(directory)
    # (setting, seed) to the payload rates of the flows, in their order.
    rates = defaultdict(list)
    for row in study.background:
        setting = row["Threshold"], row["CCTI_Timer"], row["Marking_Rate"]
        rates[setting, row["seed"]].append(row["accepted_gbit_per_s"] * PAYLOAD)
    cells = defaultdict(list)
    for (setting, _), (victim, *others) in rates.items():
        jain = sum(others) ** 2 / (len(others) * sum(rate**2 for rate in others))
        cells[setting].append((victim, jain, sum(others) / NIC))
    markings = study.axis("Marking_Rate").labels
    print("| Threshold | CCTI_Timer |", " | ".join(f"Marking_Rate {marking}" for marking in markings), "|")
    print("|---|---|" + "---|" * len(markings))
    for threshold in study.axis("Threshold").labels:
        for timer in study.axis("CCTI_Timer").labels:
            row = [cells[int(threshold), int(timer), int(marking)] for marking in markings]
            means = [[flitwise.mean_ci95(values).mean for values in zip(*cell)] for cell in row]
            print(f"| {threshold} | {timer} |", " | ".join("{:.1f} / {:.3f} / {:.2f}".format(*m) for m in means), "|")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY, which `flitwise study` wrote")
    try:
        main(sys.argv[1])
    except flitwise.FlitwiseError as e:
        sys.exit(f"error: {e}")
