//! The memory of a replay does not grow with its trace.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::alloc::{GlobalAlloc, Layout};
use std::path::Path;
use std::process::Command;

/// Runs the program in `dir`, and returns what it prints.
fn flitwise(dir: &Path, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitwise"));
    let output = command.args(args).current_dir(dir).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    output.stdout
}

/// Peak memory in bytes of a replay of a generated ring, and its records.
fn peak_of_ring(iterations: &str) -> (f64, f64) {
    let dir = tempfile::tempdir().unwrap();
    let text = "fabric.topology = { kind = \"single\", nics = 16 }\nbaseline.enabled = false\n\
                [[job]]\ntrace = \"ring.vef\"\n";
    std::fs::write(dir.path().join("exp.toml"), text).unwrap();
    let generate = ["trace", "generate", "ring", "--ranks", "16", "--size", "8B"];
    let generate = [
        &generate[..],
        &["--iterations", iterations, "-o", "ring.vef"],
    ]
    .concat();
    flitwise(dir.path(), &generate);
    let info = flitwise(dir.path(), &["trace", "info", "ring.vef", "--json"]);
    let info: Value = serde_json::from_slice(&info).unwrap();
    let run = ["run", "exp.toml", "--no-split", "--threads", "1", "--json"];
    let result: Value = serde_json::from_slice(&flitwise(dir.path(), &run)).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    (
        number(&result["engine"]["peak_rss_bytes"]),
        number(&info["records"]),
    )
}

/// Up to 2²⁴ records the check keeps where each ends, 16 B. Operations would take 80 B each.
#[test]
fn a_replay_keeps_no_operations() {
    let (small, few) = peak_of_ring("20000");
    let (large, many) = peak_of_ring("60000");
    assert!(few > 600_000.0 && many > 2.9 * few, "{few} {many}");
    let per_record = (large - small) / (many - few);
    assert!(per_record < 24.0, "{per_record} bytes per record");
}

/// Beyond twice as many records nothing grows. Writes 2 GB: `cargo test --test run memory -- --ignored`.
#[test]
#[ignore = "takes minutes and 2 GB of disk"]
fn a_trace_may_be_larger_than_what_is_kept_of_it() {
    let (small, few) = peak_of_ring("1200000");
    let (large, many) = peak_of_ring("2000000");
    assert!(few > f64::from(1 << 25) && many > 1.6 * few, "{few} {many}");
    assert!(large < 1.05 * small + 8e6, "{small} {large}");
}

/// Whether the mapping of `address` has the flag of huge pages, as Linux says.
fn is_huge(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut within = false;
    for line in maps.lines() {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        if let Some((from, to)) = range.and_then(|(a, b)| number(a).zip(number(b))) {
            within = (from..to).contains(&address);
        } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| within) {
            return flags.split(' ').any(|flag| flag == "hg");
        }
    }
    false
}

/// The allocator keeps what blocks hold, and asks for huge pages for large ones.
#[test]
fn large_blocks_have_huge_pages() {
    const MIB: usize = 1 << 20;
    let supported = Path::new("/sys/kernel/mm/transparent_hugepage").exists();
    let allocator = flitwise::huge_pages::HugePages;
    let layout = Layout::from_size_align(16 * MIB, 8).unwrap();
    let larger = Layout::from_size_align(64 * MIB, 8).unwrap();
    // SAFETY: the layouts have a size, and the block is used within it until it is given back.
    unsafe {
        let block = allocator.alloc_zeroed(layout);
        assert!(!block.is_null());
        assert_eq!(is_huge(block.addr() + 8 * MIB), supported);
        assert_eq!(*block.add(15 * MIB), 0);
        *block.add(15 * MIB) = 7;
        let block = allocator.realloc(block, layout, larger.size());
        assert_eq!(*block.add(15 * MIB), 7);
        assert_eq!(is_huge(block.addr() + 32 * MIB), supported);
        allocator.dealloc(block, larger);
    }
}
