//! Recorded traces check clean and give the counts of an independent reader.

use crate::data::data;
use flitwise_formats::vef::{Info, check_file};

/// File, messages, bytes, collectives.
const COUNTS: [(&str, u64, u64, u64); 6] = [
    ("hpl-16", 9_842, 40_881_332, 21),
    ("hpl-64", 17_692, 29_891_972, 21),
    ("gromacs_water-16", 6_103, 36_928_112, 186),
    ("lammps_melt-16", 20_736, 115_937_304, 147),
    ("randomaccess-16", 925, 122_800, 33),
    ("lulesh-27", 17_776, 12_014_432, 31),
];

#[test]
fn counts_are_those_of_an_independent_reader() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces");
    for (name, messages, bytes, collectives) in COUNTS {
        let path = format!("{folder}/{name}.vef.gz");
        let check = check_file(&path).unwrap();
        assert!(check.is_clean(), "{name}: {:?}", check.errors);
        assert!(check.warnings.total <= 1, "{name}: {:?}", check.warnings);
        assert_eq!(
            (check.messages, check.bytes, check.collectives),
            (messages, bytes, collectives),
            "{name}"
        );
        assert_eq!(check.unverified, 0);

        let info = Info::read(&path).unwrap();
        assert_eq!(
            (info.traffic.messages, info.traffic.bytes),
            (messages, bytes),
            "{name}"
        );
        let by_kind: u64 = info.collectives.iter().map(|c| c.count).sum();
        assert_eq!(by_kind, collectives, "{name}");
        assert_eq!(info.traffic.sizes.iter().sum::<u64>(), messages, "{name}");
        assert_eq!(info.records, check.records.iter().sum::<u64>(), "{name}");
        assert_eq!(info.compute_ps.len(), info.header.tasks as usize);
        assert!(info.traffic.pairs.is_sorted_by(|a, b| a.bytes >= b.bytes));
        let pairs = info.traffic.pairs.iter().map(|p| (p.messages, p.bytes));
        let sum = pairs.fold((0, 0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        assert_eq!(
            (sum, info.traffic.other_pairs),
            ((messages, bytes), (0, 0)),
            "{name}"
        );
        assert_eq!(info.dependencies.iter().sum::<u64>(), info.records);
        let ideal = info.ideal.unwrap();
        assert!(ideal.early <= info.dependencies[2]);
        // Nobody is done before it has computed, and not all wait for each other.
        assert!(ideal.span_ps >= info.compute_span_ps().1, "{name}");
        assert!(u128::from(ideal.span_ps) <= info.compute_ps.iter().map(|&c| u128::from(c)).sum());
    }
}

#[test]
fn traces_of_the_original_tools_check_clean() {
    let Some(folder) = data("traces/vef-thirdparty") else {
        return;
    };
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        count += 1;
        let check = check_file(&path).unwrap();
        assert!(check.is_clean(), "{}: {:?}", path.display(), check.errors);
        let lines = check.messages + check.markers;
        assert_eq!(lines, check.header.messages, "{}", path.display());
    }
    assert!(count > 0, "no traces");
}
