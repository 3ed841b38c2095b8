//! Other formats, recognised by their first bytes.

use flitwise_formats::Foreign;

#[track_caller]
fn is(head: &[u8], expected: Foreign) {
    assert_eq!(Foreign::of(head), Some(expected));
}

#[test]
fn formats_are_known_by_their_content() {
    is(b"\xff\xaa\xddDUMPI\0\0\0\0", Foreign::Dumpi);
    is(b"hostname=vm\nnumprocs=11\nusername=me\n", Foreign::Dumpi);
    is(b"0 init\n0 compute 1e9\n", Foreign::Ti);
    is(b"\n# recorded\np0 init\n", Foreign::Ti);
    is(b"rank-3 allReduce 5e4 1e8\n", Foreign::Ti);
    is(
        b"hpl.txt_files/17_rank-1.txt\nhpl.txt_files/17_rank-2.txt",
        Foreign::Ti,
    );
    is(b"num_ranks 16\n\nrank 0 {\n", Foreign::Goal);
    is(
        b"// by schedgen\n/* 16\nranks */ num_ranks 16\n",
        Foreign::Goal,
    );
    is(&[0x7f, 0x10, 0, 0, 0, 0, 0, 0, 32, 0], Foreign::GoalBinary);
    is(b"\x03\x42OTF2\x03", Foreign::Otf2);
    is(&[3, 0x42, 1, 0, 0, 0, 0, 0, 0, 0, 9], Foreign::Otf2);
    is(&[3, 0x23, 0, 0, 0, 0, 0, 0, 0, 1, 9], Foreign::Otf2);
    is(b"OTF2 anchor file", Foreign::Otf2);
    is(
        b"#Paraver (26/11/2026 at 11:00):1000_ns:1(4)\n",
        Foreign::Paraver,
    );
    is(b"#DIMEMAS:\"app\":1\n", Foreign::Paraver);
    is(b"\x07\x0a\x050.0.4\x08\x01", Foreign::Chakra);
    is(
        b"{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": []}",
        Foreign::Chakra,
    );
    is(b"# rank 0\nMPI_Init:1:2:3.\n", Foreign::Allprof);
    is(b"%EventDef PajeDefineContainerType 0\n", Foreign::Paje);
    is(b"\xfd7zXZ\0\0", Foreign::Packed("xz"));
    is(b"PK\x03\x04\x14", Foreign::Packed("zip"));
    let mut tar = vec![b'a'; 100];
    tar.resize(257, 0);
    tar.extend(b"ustar");
    is(&tar, Foreign::Tar);
    is(b"\x7fELF\x02\x01\x01\0", Foreign::Binary);
    is(b"VEF3 2 2\xff\xff", Foreign::Binary);
}

#[test]
fn other_texts_are_not_guessed_at() {
    for text in [
        "",
        "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n",
        "VEF2 2\n",
        "hello\n",
        "0 hello\n",
        "rank 0 {\n",
        "readme.txt\n",
        "[fabric]\npreset = \"opa-gen1\"\n",
    ] {
        assert_eq!(Foreign::of(text.as_bytes()), None, "{text}");
    }
    // A character that the head cuts off is no binary.
    assert_eq!(Foreign::of("1 é".as_bytes().split_last().unwrap().1), None);
}
