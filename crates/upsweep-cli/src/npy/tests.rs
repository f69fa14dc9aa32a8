use proptest::prelude::*;

use super::*;

/// A file of version 1 with this dictionary and `data` bytes behind it.
fn file(dictionary: &str, data: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(u16::try_from(dictionary.len()).expect("a short dictionary").to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.resize(bytes.len() + data, 7);
    bytes
}

/// The header of a whole file.
fn parsed(bytes: &[u8], asked: Option<Dtype>) -> Result<Header, HeaderError> {
    parse(bytes, bytes.len() as u64, asked)
}

fn message(dictionary: &str, data: usize) -> String {
    parsed(&file(dictionary, data), None).expect_err(dictionary).to_string()
}

#[test]
fn what_is_written_reads_back() {
    for dtype in Dtype::ALL {
        for shape in [vec![], vec![0], vec![5], vec![2, 3], vec![1, 0, 7], vec![2; 20]] {
            let mut bytes = header(dtype, &shape);
            assert!(bytes.len().is_multiple_of(ALIGNMENT));
            let items: u64 = shape.iter().product();
            let offset = bytes.len();
            bytes.resize(offset + dtype.size() * usize::try_from(items).expect("few items"), 0);
            let expected =
                Header { dtype, big_endian: false, by_columns: false, shape, items, offset };
            assert_eq!(parsed(&bytes, Some(dtype)), Ok(expected));
        }
    }
}

#[test]
fn a_long_header_is_of_version_2() {
    let mut bytes = header(Dtype::U8, &vec![1; 30_000]);
    assert_eq!(bytes[6..8], [2, 0]);
    bytes.push(9);
    assert_eq!(parsed(&bytes, None).map(|header| header.items), Ok(1));
}

#[test]
fn keys_in_any_order_and_either_quote() {
    let header =
        parsed(&file(r#" {"shape":(2,3L),'fortran_order' : False , "descr":'>i2'}  "#, 12), None)
            .expect("a legal header");
    assert_eq!((header.dtype, header.big_endian, header.items), (Dtype::I16, true, 6));
}

#[test]
fn metadata_of_a_type_are_passed_over() {
    for metadata in [
        "{}",
        "{'unit': 'm'}",
        r#"{"a}": {'b': "'}", 'c': [1, (2,)]}, }"#,
        r"{'\'}': 1}",
        "{'é': 1}",
    ] {
        let dictionary =
            format!("{{'descr': ('<f8', {metadata}), 'fortran_order': False, 'shape': (2,), }}");
        let header = parsed(&file(&dictionary, 16), None);
        assert_eq!(
            header.map(|header| (header.dtype, header.items)),
            Ok((Dtype::F64, 2)),
            "{metadata}"
        );
    }
}

#[test]
fn an_array_without_dimensions_has_one_item() {
    let found = parsed(&file("{'descr': '<f4', 'fortran_order': True, 'shape': ()}", 4), None);
    assert_eq!(found.map(|header| (header.items, header.shape)), Ok((1, vec![])));
}

#[test]
fn one_long_side_has_one_order() {
    let order = |shape: &str, data| {
        parsed(
            &file(&format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}}}"), data),
            None,
        )
        .map(|header| (header.items, header.by_columns))
    };
    assert_eq!(order("(5,)", 5), Ok((5, false)));
    assert_eq!(order("(1, 5, 1)", 5), Ok((5, false)));
    assert_eq!(order("(4, 0)", 0), Ok((0, false)));
    assert_eq!(order("(2, 5)", 10), Ok((10, true)));
}

#[test]
fn every_fault_has_its_own_words() {
    let with = |descr: &str, shape: &str| {
        format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
    };
    let cases = [
        (with("'<f4'", "(2,)"), 7, "truncated: shape (2,) of f32 needs 8 bytes"),
        (with("'<f4'", "(2,)"), 9, "bytes left over"),
        (with("'<f4'", "(2)"), 8, "not a tuple"),
        (with("'<f4'", "(2 2)"), 8, "comma"),
        (with("'<f4'", "(-1,)"), 8, "not a length"),
        (with("'<f4'", "(18446744073709551615, 2)"), 8, "more items than can be counted"),
        (with("'<f4'", "(18446744073709551616,)"), 8, "not a length"),
        (with("'<f8'", "(2305843009213693952,)"), 8, "more items than can be counted"),
        (with("'|O'", "(2,)"), 8, "Python objects"),
        (with("'|b1'", "(2,)"), 2, "bool"),
        (with("'<V2'", "(2,)"), 4, "--dtype bf16"),
        (with("'<c8'", "(2,)"), 16, "not a real number"),
        (with("'<f16'", "(2,)"), 32, "not supported"),
        (with("'|f4'", "(2,)"), 8, "order"),
        (with("[('a', '<f4')]", "(2,)"), 8, "structures"),
        (with("3", "(2,)"), 8, "quoted word"),
        (with("('<f4', (3,))", "(2,)"), 24, "the items are arrays"),
        ("{'descr': ('<f4', {'unit': {}".to_owned(), 8, "do not end"),
        ("{'descr': ('<f4', {'unit".to_owned(), 8, "a quoted word does not end"),
        ("{'descr': '<f4', 'shape': (2,)}".to_owned(), 8, "'fortran_order' is missing"),
        ("{'descr': '<f4', 'descr': '<f4'}".to_owned(), 8, "twice"),
        ("{'colour': 'red'}".to_owned(), 8, "unknown key"),
        ("{} x".to_owned(), 8, "more behind"),
        ("{'descr': '<f4".to_owned(), 8, "does not end"),
        (String::new(), 0, "it ends"),
    ];
    for (dictionary, data, words) in cases {
        let message = message(&dictionary, data);
        assert!(message.contains(words), "{dictionary}: {message}");
    }
}

#[test]
fn short_files_are_truncated() {
    let whole = file("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3);
    assert!(parsed(&whole, None).is_ok());
    for end in 0..whole.len() {
        let message = parsed(&whole[..end], None).expect_err("a part of a file").to_string();
        let words = if end < MAGIC.len() { "not a .npy file" } else { "truncated" };
        assert!(message.contains(words), "{end}: {message}");
    }
    let mut long = whole;
    long[8..10].copy_from_slice(&[255, 255]);
    assert!(parsed(&long, None).is_err());
    long[6] = 4;
    assert_eq!(parsed(&long, None), Err(HeaderError::Version(4, 0)));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes: Vec<u8>, version in 0u8..4, asked in 0usize..13) {
        let mut file = MAGIC.to_vec();
        file.extend([version, 0]);
        file.extend(&bytes);
        let asked = Dtype::ALL.get(asked).copied();
        let _ = parsed(&file, asked);
        let _ = parsed(&bytes, asked);
    }

    #[test]
    fn no_dictionary_makes_the_parser_panic(
        dictionary in r#"[{}():,'"\[\]L \\a-z<>|_0-9é]{0,80}"#,
        data in 0usize..20,
    ) {
        let _ = parsed(&file(&dictionary, data), None);
    }

    #[test]
    fn a_damaged_header_never_panics(at in 0usize..128, byte: u8, shape in prop::collection::vec(0u64..9, 1..4)) {
        let mut bytes = header(Dtype::F32, &shape);
        bytes.resize(bytes.len() + 16, 0);
        bytes[at] = byte;
        let _ = parsed(&bytes, None);
    }
}
