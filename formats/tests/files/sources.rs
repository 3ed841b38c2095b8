//! Bytes of files, packed or not, of pipes, and what a directory says of itself.

use flitwise_base::stop::Stop;
use flitwise_formats::limits::{MAP_WINDOW, MAX_KEPT_UNPACKED};
use flitwise_formats::source::{Input, directory, read_regular};
use flitwise_formats::{Error, Source};
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn all(path: &Path) -> Result<Vec<u8>, Error> {
    all_of(Source::open(path)?)
}

fn all_of(mut source: Source) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    loop {
        let (buf, eof) = source.buffer();
        out.extend_from_slice(buf);
        let n = buf.len();
        source.consume(n);
        if eof {
            return Ok(out);
        }
        source.more()?;
    }
}

fn content(input: &Input) -> Vec<u8> {
    all_of(input.open().unwrap()).unwrap()
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut f = tempfile::NamedTempFile::new().unwrap();
    f.write_all(bytes).unwrap();
    f
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    e.write_all(bytes).unwrap();
    e.finish().unwrap()
}

fn sample() -> Vec<u8> {
    (0..200_000u32)
        .flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

#[test]
fn plain_gzip_and_zstd_give_the_same_bytes() {
    let data = sample();
    assert_eq!(all(file(&data).path()).unwrap(), data);
    assert_eq!(all(file(&gzip(&data)).path()).unwrap(), data);
    let zst = zstd::encode_all(&data[..], 1).unwrap();
    assert_eq!(all(file(&zst).path()).unwrap(), data);
}

#[test]
fn gzip_members_are_joined() {
    let mut two = gzip(b"one ");
    two.extend(gzip(b"two"));
    assert_eq!(all(file(&two).path()).unwrap(), b"one two");
}

#[test]
fn a_cut_compressed_file_is_an_error_wherever_it_is_cut() {
    let packed = gzip(&sample()[..5000]);
    for cut in [5, 12, packed.len() / 2, packed.len() - 8, packed.len() - 1] {
        let e = all(file(&packed[..cut]).path()).unwrap_err();
        assert!(e.to_string().contains("gzip data are damaged"), "{e}");
    }
    let packed = zstd::encode_all(&sample()[..5000], 1).unwrap();
    for cut in [6, packed.len() / 2, packed.len() - 1] {
        let e = all(file(&packed[..cut]).path()).unwrap_err();
        assert!(e.to_string().contains("zstd data are damaged"), "{e}");
    }
}

#[test]
fn a_mapped_file_longer_than_a_window_reads_whole() {
    let f = tempfile::NamedTempFile::new().unwrap();
    let mut w = io::BufWriter::new(f.as_file());
    let words = (2 * MAP_WINDOW + 12_345) / 8;
    for i in 0..words as u64 {
        w.write_all(&i.to_le_bytes()).unwrap();
    }
    w.flush().unwrap();
    let mut source = Source::open(f.path()).unwrap();
    for i in 0..words as u64 {
        let (buf, _) = source.buffer();
        assert_eq!(buf[..8], i.to_le_bytes());
        source.consume(8);
    }
    assert!(source.buffer().0.is_empty());
}

#[test]
fn an_empty_file_is_empty_and_a_directory_is_refused() {
    assert_eq!(all(file(b"").path()).unwrap(), b"");
    assert!(
        all(Path::new("/"))
            .unwrap_err()
            .to_string()
            .contains("directory")
    );
    assert!(all(Path::new("/no/such/file")).is_err());
}

#[test]
fn a_small_compressed_file_is_kept_and_reads_the_same() {
    let text: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
    let packed = zstd::encode_all(&text[..], 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let input_of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Input::new(&path)
    };
    let is_kept = |input: &Input| {
        std::fs::remove_file(&path).unwrap();
        input.open().is_ok()
    };
    let input = input_of(&packed);
    assert!(content(&input) == text && is_kept(&input) && content(&input) == text);
    // Plain files are mapped, broken ones and large ones are read as they come.
    let plain = input_of(&text);
    assert!(content(&plain) == text && !is_kept(&plain));
    assert!(!is_kept(&input_of(&packed[..packed.len() - 9])));
    let large = zstd::encode_all(&vec![0; MAX_KEPT_UNPACKED + 1][..], 1).unwrap();
    assert!(!is_kept(&input_of(&large)));
    assert!(Input::new(Path::new("/nowhere")).open().is_err());
}

/// Writes `bytes` into a new pipe while it is read.
#[cfg(unix)]
fn piped(dir: &Path, bytes: Vec<u8>) -> PathBuf {
    let pipe = dir.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let path = pipe.clone();
    std::thread::spawn(move || std::fs::write(path, bytes));
    pipe
}

#[test]
#[cfg(unix)]
fn a_pipe_is_read_once_and_opens_any_number_of_times() {
    let numbers: Vec<String> = (0..400_000).map(|n: u32| n.to_string()).collect();
    let text = format!("VEF3 {}", numbers.join(" ")).into_bytes();
    for bytes in [text.clone(), gzip(&text), b"ab".to_vec(), Vec::new()] {
        let dir = tempfile::tempdir().unwrap();
        let pipe = piped(dir.path(), bytes.clone());
        let input = Input::repeatable(&pipe, Stop::never()).unwrap();
        let unpacked = if bytes.len() > 2 { &text } else { &bytes };
        for _ in 0..2 {
            assert!(content(&input) == *unpacked);
            let mut read = Vec::new();
            input.bytes().unwrap().read_to_end(&mut read).unwrap();
            assert!(read == bytes);
        }
        // Two at a time do not disturb each other.
        let (mut one, mut two) = (input.bytes().unwrap(), input.bytes().unwrap());
        let (mut a, mut b) = ([0; 1], [1; 1]);
        assert_eq!(one.read(&mut a).unwrap(), two.read(&mut b).unwrap());
        assert!(bytes.is_empty() || a == b);
    }
}

#[test]
#[cfg(unix)]
fn waiting_for_a_pipe_ends_when_the_user_stops_it() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // Nothing ever writes to it.
    let flag = AtomicBool::new(false);
    let input = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            flag.store(true, Ordering::Relaxed);
        });
        Input::repeatable(&pipe, Stop::new(&flag))
    });
    assert!(input.unwrap_err().is_stopped());
}

#[test]
fn a_regular_file_is_not_copied_and_errors_appear_when_it_is_opened() {
    let file = file(b"text");
    let open = |path: &Path| Input::repeatable(path, Stop::never()).unwrap();
    let input = open(file.path());
    assert_eq!(content(&input), b"text");
    drop(file);
    assert!(input.open().is_err());
    for wrong in ["/nowhere", "/"] {
        assert!(open(Path::new(wrong)).open().is_err());
    }
}

#[test]
fn traces_in_a_directory_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let said = || directory(dir.path());
    std::fs::write(dir.path().join("notes.txt"), "no trace").unwrap();
    assert!(
        said().contains("no file in it looks like one"),
        "{}",
        said()
    );
    let mut tar = vec![0; 257];
    tar.extend(b"ustar");
    let archive = dir.path().join("app.tar");
    std::fs::write(&archive, &tar).unwrap();
    let named = format!("; name the archive in it: `{}`", archive.display());
    assert!(said().ends_with(&named), "{}", said());
    std::fs::write(dir.path().join("b.tar"), &tar).unwrap();
    assert!(
        said().contains("; name one of the archives in it: `"),
        "{}",
        said()
    );
    std::fs::write(dir.path().join("a-0000.bin"), b"\xff\xaa\xddDUMPI\0").unwrap();
    assert!(
        said().ends_with("must be called `PREFIX-NNNN.bin`"),
        "{}",
        said()
    );
    for name in ["d.vef", "b.vef", "c", "e.vef"] {
        let text = match name {
            "c" => "num_ranks 2\n",
            _ => "VEF3 2 2 1 0 0 0 1000\n",
        };
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let path = |name: &str| dir.path().join(name).display().to_string();
    let [b, c, d] = ["b.vef", "c", "d.vef"].map(path);
    let named = format!("name one of those in it: `{b}`, `{c}`, `{d}`, …");
    assert!(said().ends_with(&named), "{}", said());
}

/// A directory may have anything in it: pipes could keep the program waiting, and devices never end.
#[cfg(unix)]
#[test]
fn directories_are_read_by_their_regular_files() {
    let dir = tempfile::tempdir().unwrap();
    let rank = dir.path().join("dumpi-0000.bin");
    std::os::unix::fs::symlink("/dev/zero", &rank).unwrap();
    let refused = flitwise_formats::dumpi::Set::open(dir.path()).unwrap_err();
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
    std::fs::remove_file(&rank).unwrap();

    let pipe = dir.path().join("job_rank-0.txt");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert!(!flitwise_formats::ti::is_folder(dir.path()));
    let list = dir.path().join("job.txt");
    std::fs::write(&list, "job_rank-0.txt\njob_rank-0.txt\n").unwrap();
    let refused = flitwise_formats::ti::Trace::open(&list).unwrap_err();
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
    for text in [read_regular(&pipe), read_regular("/dev/zero".as_ref())] {
        assert!(text.is_err());
    }
}

/// A stream is recognised by its first bytes, and what is copied has a limit.
#[cfg(unix)]
#[test]
fn streams_that_never_end_are_refused() {
    let zero = Input::repeatable("/dev/zero".as_ref(), Stop::never()).unwrap_err();
    assert!(
        zero.to_string().contains("binary data of no known format"),
        "{zero}"
    );
}
