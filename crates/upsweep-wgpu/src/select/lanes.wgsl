// How many items of a row are selected, by a scan of what its threads have.

fn counted_in_row(unit: Unit, thread: u32) -> InRow {
    let upto = scan_across(total_in_line(unit), thread, ROW_THREADS);
    return InRow(previous(upto, thread, ROW_THREADS), upto);
}
