//! Every function, in every version: what is written by the table of arguments is read as typed calls with the same values
//! under the same names.

use flitwise_formats::dumpi::{Function, Layout, Parser, Step, Version};
use proptest::prelude::*;

use crate::write::{File, Head, Row, TABLE, Value, function, list, record, text};

/// The steps of a file that is fed in pieces of `size` bytes, shown as texts, and the error that ends it.
pub fn steps(bytes: &[u8], layout: Layout, size: usize) -> (Vec<String>, Option<String>) {
    let mut parser = Parser::new(layout);
    let (mut start, mut end) = (0, 0);
    let mut steps = Vec::new();
    loop {
        let step = match parser.next(&bytes[start..end], end == bytes.len()) {
            Ok(step) => step,
            Err(e) => return (steps, Some(e.to_string())),
        };
        let consumed = match &step {
            Step::NeedMore { bytes: needed } => {
                assert!(*needed > end - start && end < bytes.len());
                end = (end + size).min(bytes.len());
                continue;
            }
            Step::Start { consumed }
            | Step::Call { consumed, .. }
            | Step::EndOfCalls { consumed }
            | Step::Trailer { consumed, .. } => *consumed,
            Step::End => return (steps, None),
            _ => unreachable!("a new step"),
        };
        steps.push(format!("{step:?}"));
        start += consumed;
        assert_eq!(parser.offset(), start as u64);
    }
}

/// The numbers in a text, without those that are part of a word.
fn numbers(text: &str) -> Vec<i64> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The names of fields in the outermost braces of a text.
fn names(text: &str) -> Vec<&str> {
    let (mut depth, mut names, mut start) = (0, Vec::new(), 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ':' if depth == 2 => names.push(&text[start..at]),
            _ => {}
        }
        if matches!(c, '{' | ',') {
            start = at + 2;
        }
    }
    names
}

/// The numbers of a value, as they are shown.
fn shown(value: &Value, out: &mut Vec<i64>) {
    match value {
        Value::Number(n) => out.push(*n),
        Value::List(list) => list.iter().for_each(|value| shown(value, out)),
        Value::Statuses(list) => {
            for &(bytes, source, _, error, tag) in list {
                out.extend([bytes, source, error.into(), tag].map(i64::from));
            }
        }
    }
}

/// A record of `row` is read as it was written.
fn reads_as_written(row: &Row, head: Head, values: &[Value]) {
    let mut file = File::default();
    file.record(row, head, values);
    let bytes = file.bytes();
    let mut parser = Parser::new(Layout::default());
    let Ok(Step::Start { consumed }) = parser.next(&bytes, true) else {
        panic!("no start");
    };
    let step = parser.next(&bytes[consumed..], true);
    let Ok(Step::Call { consumed, record }) = step else {
        panic!("{}: {step:?}", row.name);
    };
    assert_eq!(consumed, file.body.len(), "{}", row.name);
    assert_eq!(record.call.function().name(), row.name);
    assert_eq!(record.thread.is_some(), head.mask & 0x40 != 0);
    let ns = |bias: i64, (s, ns): (u16, u32)| (bias + i64::from(s)) * 1_000_000_000 + i64::from(ns);
    let cpu = record.cpu.map(|t| [t.start, t.stop]);
    assert_eq!(
        cpu,
        (head.mask & 4 != 0).then(|| head.cpu.map(|t| ns(0, t)))
    );
    let wall = record.wall.map(|t| [t.start, t.stop]);
    assert_eq!(
        wall,
        (head.mask & 8 != 0).then(|| head.wall.map(|t| ns(100, t)))
    );

    let call = format!("{:?}", record.call);
    let fields = row.fields.iter().map(|field| field.name.as_str());
    assert_eq!(names(&call), fields.collect::<Vec<_>>(), "{call}");
    let number = |name: &str| {
        let at = row
            .fields
            .iter()
            .position(|field| field.name == name)
            .unwrap();
        values[at].clone()
    };
    let mut expected = Vec::new();
    for (field, value) in row.fields.iter().zip(values) {
        let there = field
            .only_if
            .as_ref()
            .is_none_or(|other| number(other) == number("root"));
        let statuses = field.kind != "statuses" || head.mask & 3 != 0;
        if there && statuses {
            shown(value, &mut expected);
        }
    }
    assert_eq!(numbers(&call), expected, "{call}");
}

/// Any value of a type.
fn value(kind: &str) -> BoxedStrategy<Value> {
    if kind == "statuses" {
        let status = any::<(i32, i32, bool, i8, i32)>();
        return prop::collection::vec(status, 0..4)
            .prop_map(Value::Statuses)
            .boxed();
    }
    if let Some(inner) = kind.strip_prefix("arr<") {
        let inner = value(inner.strip_suffix('>').unwrap());
        return prop::collection::vec(inner, 0..4)
            .prop_map(Value::List)
            .boxed();
    }
    let number = match kind.split(':').next().unwrap() {
        "u8" | "char" => any::<u8>().prop_map(i64::from).boxed(),
        "i16" => any::<i16>().prop_map(i64::from).boxed(),
        "i32" => any::<i32>().prop_map(i64::from).boxed(),
        "i64" => any::<i64>().boxed(),
        other => panic!("{other}"),
    };
    number.prop_map(Value::Number).boxed()
}

fn head() -> impl Strategy<Value = Head> {
    let time = || (0_u16..1000, 0_u32..1_000_000_000);
    let times = || (time(), time()).prop_map(|(a, b)| [a, b]);
    let mask = prop::sample::select(vec![
        0x4f_u8, 0x00, 0x08, 0x0c, 0x40, 0x43, 0xcf, 0x88, 0x01,
    ]);
    (mask, any::<u16>(), times(), times()).prop_map(|(mask, thread, cpu, wall)| Head {
        mask,
        thread,
        cpu,
        wall,
    })
}

/// Any record; arguments that are there for equal numbers only are there every second time.
fn any_record() -> impl Strategy<Value = (Row, Head, Vec<Value>)> {
    let row = prop::sample::select(TABLE.clone());
    row.prop_flat_map(|row| {
        let values: Vec<_> = row.fields.iter().map(|field| value(&field.kind)).collect();
        (Just(row), head(), values, any::<bool>())
    })
    .prop_map(|(row, head, mut values, equal)| {
        let at = |name: &str| row.fields.iter().position(|field| field.name == name);
        let condition = row.fields.iter().find_map(|field| field.only_if.as_deref());
        if let (true, Some(name)) = (equal, condition) {
            values[at(name).unwrap()] = values[at("root").unwrap()].clone();
        }
        (row, head, values)
    })
}

#[test]
fn every_function_has_the_name_and_the_arguments_of_the_table() {
    assert_eq!(TABLE.len(), 291);
    for row in TABLE.iter() {
        assert_eq!(Function::from_number(row.number).unwrap().name(), row.name);
        let values: Vec<Value> = row
            .fields
            .iter()
            .zip(1..)
            .map(|(field, n)| one(field, n))
            .collect();
        reads_as_written(row, Head::default(), &values);
    }
    for number in [128, 290, 293, 294, u16::MAX] {
        assert_eq!(Function::from_number(number), None);
    }
}

/// A value in which each number is another one; conditions hold.
pub fn one(field: &crate::write::Field, n: i64) -> Value {
    match field.kind.as_str() {
        "statuses" => Value::Statuses(vec![(8, 1, false, 0, 7), (16, 2, true, -3, 9)]),
        "arr<arr<arr<char>>>" => Value::List(vec![Value::List(vec![text("a"), text("bc")]); 2]),
        "arr<arr<char>>" => Value::List(vec![text("prog"), text(""), text("-n")]),
        "arr<arr<i32>>" => Value::List(vec![list(&[0, 7, 2]), list(&[n, -n, 1])]),
        kind if kind.starts_with("arr<") => list(&[n, n + 20, 3]),
        _ if ["root", "commrank", "oldcommrank"].contains(&field.name.as_str()) => 5.into(),
        _ => n.into(),
    }
}

proptest! {
    #[test]
    fn any_record_is_read_as_it_was_written((row, head, values) in any_record()) {
        reads_as_written(&row, head, &values);
    }

    #[test]
    fn pieces_of_any_size_give_the_same(
        records in prop::collection::vec(any_record(), 0..6),
        size in 1_usize..40,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = File::default();
        for (row, head, values) in &records {
            file.record(row, *head, values);
        }
        let bytes = file.bytes();
        let whole = steps(&bytes, Layout::default(), bytes.len());
        prop_assert_eq!(&whole.1, &None);
        prop_assert_eq!(whole.0.len(), records.len() + 3);
        prop_assert_eq!(&whole, &steps(&bytes, Layout::default(), size));
        let cut = &bytes[..cut.index(bytes.len())];
        let whole = steps(cut, Layout::default(), cut.len().max(1));
        prop_assert!(whole.1.is_some());
        prop_assert_eq!(whole, steps(cut, Layout::default(), size));
    }
}

#[test]
fn old_versions_are_read_by_their_layout() {
    let init = [Value::List(vec![text("a.out"), text("x")])];
    let cart = [
        2.into(),
        2.into(),
        2.into(),
        list(&[4, 4]),
        list(&[0, 1]),
        list(&[3, 1]),
    ];
    let made = [
        2.into(),
        list(&[1, 2]),
        list(&[0, 8]),
        list(&[9, 14]),
        28.into(),
    ];
    let wait = [5.into(), Value::Statuses(vec![(8, 1, false, 0, 7)])];
    // Versions, and how many coordinates and displacements there are, and whether a status has a tag.
    for (version, coords, displacements, tag) in [
        ([0, 4, 9], 1, 1, false),
        ([0, 6, 1], 1, 1, false),
        ([0, 6, 3], 1, 1, true),
        ([0, 6, 8], 2, 1, true),
        ([0, 6, 9], 2, 2, true),
        ([1, 1, 0], 2, 2, true),
        ([13, 0, 0], 2, 2, true),
    ] {
        let mut file = File {
            version,
            ..File::default()
        };
        file.call("MPI_Init", &init);
        file.call("MPI_Cart_get", &cart)
            .call("MPI_Type_struct", &made);
        file.call("MPI_Wait", &wait).call("MPI_Finalize", &[]);
        let bytes = file.bytes();
        let layout = Layout::of(Version(version[0], version[1], version[2]));
        let (steps, error) = steps(&bytes, layout, 7);
        assert_eq!(error, None, "{version:?}");
        let has = |part: &str| assert!(steps.iter().any(|s| s.contains(part)), "{part}: {steps:?}");
        has("argc_argv: [[97, 46, 111, 117, 116], [120]]");
        has(if coords == 2 {
            "coords: [3, 1]"
        } else {
            "coords: [3]"
        });
        has(if displacements == 2 {
            "indices: [0, 8]"
        } else {
            "indices: [0]"
        });
        has(if tag { "tag: Some(7)" } else { "tag: None" });
        has(&format!(
            "Version({}, {}, {})",
            version[0], version[1], version[2]
        ));
    }
}

#[test]
fn a_clock_of_16_bits_begins_again() {
    let barrier = function("MPI_Barrier");
    let mut body = Vec::new();
    let mut add = |start: u16, stop: u16| {
        let head = Head {
            mask: 0x08,
            wall: [(start, 5), (stop, 6)],
            ..Head::default()
        };
        body.extend(record([13, 0, 0], barrier, head, &[2.into()]));
    };
    add(10, 65_000);
    // Across the end of the 16 bits, then 12 hours later; a thread may go back by an hour.
    add(65_530, 4);
    add(65_000, 5);
    add(43_204, 43_205);
    add(39_600, 43_206);
    add(10, 11);
    let file = File {
        body,
        bias: [0, -100],
        ..File::default()
    };
    let bytes = file.bytes();
    let mut parser = Parser::new(Layout::default());
    let mut rest = &bytes[..];
    let mut times = Vec::new();
    loop {
        let consumed = match parser.next(rest, true).unwrap() {
            Step::Start { consumed } => consumed,
            Step::Call { consumed, record } => {
                let wall = record.wall.unwrap();
                let seconds = |ns: i64| ns.div_euclid(1_000_000_000) + 100;
                times.push((seconds(wall.start), seconds(wall.stop)));
                consumed
            }
            _ => break,
        };
        rest = &rest[consumed..];
    }
    const DAY: i64 = 65_536;
    let expected = [
        (10, 65_000),
        (65_530, DAY + 4),
        (65_000, DAY + 5),
        (DAY + 43_204, DAY + 43_205),
        (DAY + 39_600, DAY + 43_206),
        (2 * DAY + 10, 2 * DAY + 11),
    ];
    assert_eq!(times, expected);
}
