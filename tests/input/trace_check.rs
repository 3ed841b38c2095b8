//! `flitwise trace check` gives every file of the corpus its verdict.

use crate::common::bless;
use std::io::Write;
use std::path::Path;
use std::process::Command;

#[test]
fn the_verdict_on_every_file_of_the_corpus() {
    if bless::is_on() {
        // The table is being rewritten.
        return;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/vef");
    let table = std::fs::read_to_string(corpus.join("EXPECTED.tsv")).unwrap();
    for row in table.lines().filter(|l| !l.starts_with('#')) {
        let [name, line, part] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {row}");
        };
        for json in [false, true] {
            let out = Command::new(env!("CARGO_BIN_EXE_flitwise"))
                .args(["trace", "check", name])
                .args(json.then_some("--json"))
                .current_dir(&corpus)
                .output()
                .unwrap();
            let stdout = String::from_utf8(out.stdout).unwrap();
            let stderr = String::from_utf8(out.stderr).unwrap();
            let code = if part.is_empty() { 0 } else { 2 };
            assert_eq!(out.status.code(), Some(code), "{name}: {stdout}{stderr}");
            assert_eq!(stderr.lines().count(), usize::from(code == 2), "{stderr}");
            if code == 0 && !json {
                let last = stdout.lines().last().unwrap();
                assert!(
                    last.starts_with(&format!("{name} -- nothing wrong")),
                    "{last}"
                );
            }
            // Line 0: the file could not be read, which is no verdict.
            if line != "0" && !json {
                assert!(stdout.contains(&format!("{name}:{line}: ")), "{stdout}");
                assert!(stdout.contains(part), "{name}: {stdout}");
            }
            if json && !stdout.is_empty() {
                let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
                assert_eq!(json["clean"], code == 0, "{name}");
            }
        }
    }
}

/// Lines of 10 GB, of which next to nothing is read: plain they are a sparse file, packed the
/// same member or frame again and again. The address space of the packed ones is limited, and the processor time of all.
#[test]
fn a_line_of_10_gb_is_refused_in_bounded_memory() {
    const MEMBER: usize = 64 << 20;
    const MEMBERS: usize = (10 << 30) / MEMBER;
    let zeros = vec![b'0'; MEMBER];
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let heads = [
        ("", 1),
        ("VEF3 1 1 1 0 0 0 1000\nC0 ", 2),
        ("VEF3 1 1 1 0 0 0 1000\nC0 0\n", 3),
    ];
    let (gz, zst) = (gzip(&zeros).repeat(MEMBERS), zstd(&zeros).repeat(MEMBERS));
    for (head, line) in heads {
        let plain = std::fs::File::create(dir.path().join("plain.vef")).unwrap();
        (&plain).write_all(head.as_bytes()).unwrap();
        plain.set_len(10 << 30).unwrap();
        let packed = [gzip(head.as_bytes()), gz.clone()].concat();
        std::fs::write(dir.path().join("packed.vef.gz"), packed).unwrap();
        let packed = [zstd(head.as_bytes()), zst.clone()].concat();
        std::fs::write(dir.path().join("packed.vef.zst"), packed).unwrap();
        for (name, limit) in [
            ("plain.vef", "unlimited"),
            ("packed.vef.gz", "500000"),
            ("packed.vef.zst", "500000"),
        ] {
            let out = Command::new("sh")
                .args([
                    "-c",
                    &format!("ulimit -t 2; ulimit -v {limit}; exec \"$0\" \"$@\""),
                ])
                .arg(env!("CARGO_BIN_EXE_flitwise"))
                .args(["trace", "info", name])
                .current_dir(dir.path())
                .output()
                .unwrap();
            let stderr = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(2), "{name}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
            // A file of zero bytes has no lines.
            let place = match (head, name) {
                ("", "plain.vef") => format!("{name}: binary data"),
                _ => format!("{name}:{line}: "),
            };
            assert!(stderr.contains(&place), "{stderr}");
        }
    }
}
