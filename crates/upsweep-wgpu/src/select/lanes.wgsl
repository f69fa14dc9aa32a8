// What is in front of a unit in its row, by a scan of what the row's threads have.

fn found_in_row(unit: Unit, thread: u32) -> InRow {
    let upto = scan_across(total_in_line(unit), thread, ROW_THREADS);
    return InRow(previous(upto, thread, ROW_THREADS), upto);
}
