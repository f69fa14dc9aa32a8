//! What annotations refuse, where, and with which words.

/// New messages are written by `TRYBUILD=overwrite cargo test -p upsweep-macros --test refused`.
#[test]
fn mistakes_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
