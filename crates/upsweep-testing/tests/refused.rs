//! What annotations refuse, where, and with which words. It stands here because their own crate has no `upsweep` to build with.

/// New messages are written by `TRYBUILD=overwrite cargo test -p upsweep-testing --test refused`.
#[test]
fn mistakes_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
