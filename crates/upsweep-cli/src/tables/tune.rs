//! What `tune` found.

use upsweep::Profile;
use upsweep::profile::{Crossing, FromHost};
use upsweep::strategy::{CpuPolicy, Strategy};

/// In how many rows the choice was as good as the best, and where it was worst.
pub(crate) fn lost(mut lost: Vec<f64>) -> String {
    lost.sort_by(f64::total_cmp);
    let within = |percent: f64| lost.partition_point(|&row| row <= percent);
    match lost.last() {
        None => String::new(),
        Some(worst) => format!(
            "\nOf {} rows the choice in use loses 2 % at most in {}, 5 % at most in {}, and {worst:.1} % in the worst.\n",
            lost.len(),
            within(2.0),
            within(5.0),
        ),
    }
}

/// A number of a CPU.
type Number = (&'static str, fn(&CpuPolicy) -> usize);

/// What a profile says of a CPU: a line for each number, a column for each type.
fn numbers(profile: &Profile) -> String {
    let mut columns: Vec<(String, CpuPolicy)> =
        profile.cpu_types.iter().map(|(dtype, policy)| (dtype.to_string(), *policy)).collect();
    columns.extend(profile.cpu.map(|policy| ("others".to_owned(), policy)));
    if columns.is_empty() {
        return String::new();
    }
    // More than any array has: from there on never, or always up to there.
    let bytes = |name: &str, bytes: usize| match (name, bytes) {
        ("scan_parts_bytes", CpuPolicy::NEVER) => "always".to_owned(),
        (_, CpuPolicy::NEVER) => "never".to_owned(),
        (_, bytes) => bytes.to_string(),
    };
    let all: [Number; 8] = [
        ("serial_bytes", |cpu| cpu.serial_bytes),
        ("scan_serial_bytes", |cpu| cpu.scan_serial_bytes),
        ("block_bytes", |cpu| cpu.block_bytes),
        ("scan_block_bytes", |cpu| cpu.scan_block_bytes),
        ("scan_parts_bytes", |cpu| cpu.scan_parts_bytes),
        ("streaming_bytes", |cpu| cpu.streaming_bytes),
        ("half_line_bytes", |cpu| cpu.half_line_bytes),
        ("scan_half_line_bytes", |cpu| cpu.scan_half_line_bytes),
    ];
    let mut text = format!("{:<20}", "");
    let line = |text: &mut String, cells: &mut dyn Iterator<Item = String>| {
        cells.for_each(|cell| text.push_str(&format!(" {cell:>11}")));
        text.push('\n');
    };
    line(&mut text, &mut columns.iter().map(|(name, _)| name.clone()));
    for (name, of) in all {
        text.push_str(&format!("{name:<20}"));
        line(&mut text, &mut columns.iter().map(|(_, cpu)| bytes(name, of(cpu))));
    }
    text
}

/// What a profile says, for people.
pub(crate) fn table(profile: &Profile) -> String {
    let mut text = String::new();
    text.push_str(&numbers(profile));
    let reductions = profile.reductions.iter().flat_map(|rows| {
        rows.best().iter().map(move |best| {
            (
                "reduce",
                rows.work(),
                best.items,
                Strategy::GpuReduce(best.strategy).to_string(),
                best.policy,
                best.measured,
            )
        })
    });
    let scans = profile.scans.iter().flat_map(|rows| {
        rows.best().iter().map(move |best| {
            (
                "scan",
                rows.work(),
                best.items,
                Strategy::GpuScan(best.strategy).to_string(),
                best.policy,
                best.measured,
            )
        })
    });
    for (number, (primitive, work, items, strategy, policy, measured)) in
        reductions.chain(scans).enumerate()
    {
        if number == 0 {
            text.push_str(&format!(
                "{:<8} {:<8} {:<9} {:>11} {:<48} {:>7} {:>5} {:>12} {:>7} {:>8}\n",
                "",
                "operator",
                "dtype",
                "n",
                "strategy",
                "threads",
                "items",
                "median µs",
                "% limit",
                "gained %",
            ));
        }
        let types = format!("{}->{}", work.item, work.output);
        let of_limit = 100.0 * measured.limit_us / measured.median_us;
        let gained = 100.0 * (measured.default_us / measured.median_us - 1.0);
        text.push_str(&format!(
            "{primitive:<8} {:<8} {types:<9} {items:>11} {strategy:<48} {:>7} {:>5} {:>12.3} {of_limit:>7.1} {gained:>8.1}\n",
            work.operator, policy.threads_per_workgroup, policy.items_per_thread, measured.median_us,
        ));
    }
    if let Some(from_host) = &profile.from_host {
        text.push_str(&crossings(from_host));
    }
    text
}

/// What arrays of the host's take, and where that is the better place.
fn crossings(from_host: &FromHost) -> String {
    let mut text = format!(
        "\nArrays in the host's memory, from call to result; CPU: {}\n{:<8} {:>12} {:>12} {:>12}  faster\n",
        from_host.cpu, "", "bytes", "GPU µs", "CPU µs",
    );
    for (name, rows) in [("reduce", &from_host.reads), ("scan", &from_host.copies)] {
        for &Crossing { bytes, gpu_us, cpu_us } in rows {
            let faster = if gpu_us < cpu_us { "GPU" } else { "CPU" };
            text.push_str(&format!(
                "{name:<8} {bytes:>12} {gpu_us:>12.2} {cpu_us:>12.2}  {faster}, {:.1} times\n",
                (gpu_us / cpu_us).max(cpu_us / gpu_us),
            ));
        }
    }
    text
}
