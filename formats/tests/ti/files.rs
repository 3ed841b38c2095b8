//! Recorded traces, with the counts of an independent reader.

use std::io::Read;
use std::path::Path;

use flitwise_formats::Source;
use flitwise_formats::ti::{Info, Set, Trace, check_file, write};

use crate::data::{data, examples_of_simgrid};
use crate::{contents, messages};

/// Names and contents of the files of an archive.
fn members(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    let mut members = Vec::new();
    let mut rest = &bytes[..];
    while rest.len() >= 512 && rest[0] != 0 {
        let (head, after) = rest.split_at(512);
        let text = |from: usize, len: usize| {
            let field = &head[from..from + len];
            let end = field
                .iter()
                .position(|&b| b == 0 || b == b' ')
                .unwrap_or(len);
            String::from_utf8(field[..end].to_vec()).unwrap()
        };
        let size = usize::from_str_radix(&text(124, 12), 8).unwrap();
        if matches!(head[156], b'0' | 0) {
            members.push((text(0, 100), after[..size].to_vec()));
        }
        rest = &after[size.next_multiple_of(512)..];
    }
    members
}

/// The number after `"key": ` behind `from` in a JSON text.
fn number(text: &str, key: &str) -> Option<f64> {
    let after = text.split(&format!("\"{key}\": ")).nth(1)?;
    let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    after[..end].parse().ok()
}

const SETS: [&str; 5] = [
    "comd-16",
    "hpl-16",
    "lulesh-27",
    "nas_dt_SH_W-32",
    "nas_is_S-16",
];

#[test]
fn counts_are_those_of_an_independent_reader() {
    let Some(folder) = data("traces/ti") else {
        return;
    };
    for set in SETS {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in members(&folder.join(format!("{set}/{set}-ti.tar.gz"))) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let check = check_file(dir.path().join(format!("{set}.txt"))).unwrap();
        assert!(check.is_clean(), "{set}: {:?}", messages(&check));
        let text = std::fs::read_to_string(folder.join(format!("{set}/counts.json"))).unwrap();
        let totals = text
            .split("\"totals\"")
            .nth(1)
            .unwrap()
            .split('}')
            .next()
            .unwrap();
        let i = &check.info;
        for (key, ours) in [
            ("sends", i.sends),
            ("send_bytes", i.send_bytes),
            ("recvs", i.recvs),
            ("recv_bytes_posted", i.recv_bytes),
            ("sendrecvs", i.sendrecvs),
            ("sendrecv_send_bytes", i.sendrecv_bytes),
            ("collectives", i.collectives),
        ] {
            assert_eq!(
                number(totals, key).unwrap_or(0.0),
                ours as f64,
                "{set}: {key}"
            );
        }
        assert_eq!(number(&text, "lines"), Some(i.actions as f64), "{set}");
        assert_eq!(number(&text, "ranks"), Some(f64::from(i.ranks)), "{set}");
        let flops: Vec<f64> = text
            .split("\"rank\"")
            .skip(1)
            .filter_map(|r| number(r, "compute_flops"))
            .collect();
        assert_eq!(i.flops, flops, "{set}");
        let actions = text
            .split("\"actions\"")
            .nth(1)
            .unwrap()
            .split('}')
            .next()
            .unwrap();
        for (name, &count) in &i.by_name {
            let name = if *name == "sendrecv" {
                "sendRecv"
            } else {
                name
            };
            assert_eq!(number(actions, name), Some(count as f64), "{set}: {name}");
        }
        assert_eq!(check.waits_for_none > 0, set == "lulesh-27");
        assert_eq!(i.unknown_sizes > 0, set == "hpl-16");
        assert_eq!(
            check.warnings.total,
            u64::from(set == "hpl-16"),
            "{:?}",
            check.warnings
        );
    }
}

#[test]
fn an_archive_a_list_and_one_file_give_the_same_actions() {
    let Some(folder) = data("traces/ti") else {
        return;
    };
    for set in SETS {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Set::new("a.tar".as_ref()).unwrap();
        for (name, bytes) in members(&folder.join(format!("{set}/{set}-ti.tar.gz"))) {
            let path = dir.path().join(name.replace('/', "_"));
            std::fs::write(&path, bytes).unwrap();
            archive.add(&name, Source::open(&path).unwrap()).unwrap();
        }
        let archive = archive.finish().unwrap();
        let expected = contents(&archive);
        let mut text = Vec::new();
        write::one_file(&archive, &mut text).unwrap();
        for bytes in [text.clone(), crate::gzip(&text)] {
            let (_dir, path) = crate::file(&bytes);
            let trace = Trace::open(&path).unwrap();
            assert!(contents(&trace) == expected, "{set}");
            assert_eq!(Info::read(&trace).unwrap(), Info::read(&archive).unwrap());
        }
    }
}

#[test]
fn the_examples_of_simgrid_check_clean() {
    for (path, ranks) in examples_of_simgrid().into_iter().flatten() {
        let check = check_file(&path).unwrap();
        let shown = path.display();
        assert!(check.is_clean(), "{shown}: {:?}", messages(&check));
        assert_eq!(check.info.ranks, ranks, "{shown}");
    }
}
