//! What was wanted, and what came out: the table that people read.

use std::fmt::Write;

use super::Run;
use super::definition::{Term, Wanted};
use super::measure::{Engine, Measured};
use super::memory::{Missing, Peak};

/// A cell in one line, while the run goes on.
pub(super) fn line(measured: &Measured) -> String {
    if let Some(why) = &measured.left_out {
        return format!("{}: left out, {why}", measured.cell);
    }
    let say = |engine: Option<&Engine>| {
        engine.map_or_else(|| "–".to_owned(), |e| format!("{} {:.4}", e.name, measured.gbps(e)))
    };
    let mut line = format!(
        "{}: {} GB/s; best peer {}; limit {}",
        measured.cell,
        say(measured.ours()),
        say(measured.best_peer()),
        say(measured.limit())
    );
    for (name, why) in &measured.wrong {
        let _ = write!(line, "; {name} is wrong: {why}");
    }
    if measured.disturbed > 0 {
        let _ = write!(line, "; {} rounds disturbed", measured.disturbed);
    }
    line
}

/// Whether a term is met, and whether only the noise makes it so.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Met,
    WithinNoise,
    Missed,
    Unknown,
}

fn judge(measured: &Measured, term: Term) -> Verdict {
    let Some(ours) = measured.ours() else { return Verdict::Unknown };
    let at_least = |found: Option<f64>, wanted: f64| match found {
        Some(found) if found >= wanted => Verdict::Met,
        Some(_) => Verdict::Missed,
        None => Verdict::Unknown,
    };
    let times = |other: Option<&Engine>| other.map(|other| other.median() / ours.median());
    match term {
        Term::Limit(wanted) => at_least(times(measured.limit()), wanted),
        Term::Peer(wanted) => at_least(times(measured.best_peer()), wanted),
        Term::Level => match measured.best_peer() {
            None => Verdict::Unknown,
            Some(peer) if ours.median() <= peer.median() => Verdict::Met,
            // Half of the samples of each overlap: the order of the medians says nothing.
            Some(peer) if ours.quantile(0.25) <= peer.quantile(0.75) => Verdict::WithinNoise,
            Some(_) => Verdict::Missed,
        },
        Term::Speed(wanted) => at_least(Some(measured.gbps(ours)), wanted),
        Term::Nanoseconds(wanted) => at_least(Some(-ours.median() * 1e9), -wanted),
    }
}

/// The best of the alternatives, the worst of the demands.
fn verdict(measured: &Measured, wanted: &[Wanted]) -> &'static str {
    let rank = |verdict| match verdict {
        Verdict::Missed => 0,
        Verdict::Unknown => 1,
        Verdict::WithinNoise => 2,
        Verdict::Met => 3,
    };
    let worst = wanted
        .iter()
        .filter_map(|wanted| wanted.terms.iter().map(|&t| rank(judge(measured, t))).max())
        .min();
    match worst {
        None => "",
        Some(0) => "**no**",
        Some(1) => "not measured",
        Some(2) => "yes, within the noise",
        Some(_) => "yes",
    }
}

/// Every figure as a Markdown table.
pub(super) fn table(run: &Run) -> String {
    let mut text = String::from(
        "| job | primitive | type | items | ours | best peer | times the peer | limit | of the limit | wanted | met |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (figure, cells) in &run.figures {
        let wanted: Vec<_> = figure.wanted.iter().map(|wanted| wanted.text.as_str()).collect();
        for measured in cells {
            row(&mut text, &figure.job, measured, &wanted.join(", "), &figure.wanted);
        }
    }
    if !run.memory.is_empty() {
        text.push_str("\n| command | file | memory beside it | time | wanted | met |\n|---|---|---|---|---|---|\n");
        run.memory.iter().for_each(|peak| memory_row(&mut text, peak));
    }
    text
}

fn row(text: &mut String, job: &str, measured: &Measured, wanted: &str, terms: &[Wanted]) {
    let cell = &measured.cell;
    let _ = write!(text, "| {job} | {} | {} | {} ", cell.op, cell.types(), cell.length());
    if let Some(why) = &measured.left_out {
        let _ = writeln!(text, "| left out: {why} | | | | | {wanted} | not measured |");
        return;
    }
    let in_nanoseconds =
        terms.iter().flat_map(|wanted| &wanted.terms).any(|t| matches!(t, Term::Nanoseconds(_)));
    let speed = |engine: &Engine| {
        if in_nanoseconds {
            format!("{:.1} ns", engine.median() * 1e9)
        } else {
            format!("{:.1} GB/s", measured.gbps(engine))
        }
    };
    let with_spread = |engine: &Engine| {
        let spread = (engine.quantile(0.75) - engine.quantile(0.25)) / engine.median() / 2.0;
        format!("{} ±{:.0} %", speed(engine), 100.0 * spread)
    };
    let ours = measured.ours();
    let times = |other: Option<&Engine>| Some(other?.median() / ours?.median());
    let or_dash = |found: Option<String>| found.unwrap_or_else(|| "–".to_owned());
    let named = |engine: Option<&Engine>| {
        or_dash(engine.map(|engine| format!("{}: {}", engine.name, with_spread(engine))))
    };
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {wanted} | {} |",
        or_dash(ours.map(with_spread)),
        named(measured.best_peer()),
        or_dash(times(measured.best_peer()).map(|times| format!("{times:.2}"))),
        named(measured.limit()),
        or_dash(times(measured.limit()).map(|part| format!("{:.0} %", 100.0 * part))),
        verdict(measured, terms),
    );
}

fn memory_row(text: &mut String, peak: &Peak) {
    let (memory, time) = match &peak.outcome {
        Ok((bytes, seconds)) => {
            (format!("{:.1} MiB", *bytes as f64 / 1048576.0), format!("{seconds:.2} s"))
        }
        Err(Missing::LeftOut(why)) => (format!("left out: {why}"), String::new()),
        Err(Missing::Failed(why)) => (format!("failed: {why}"), String::new()),
    };
    let met = match peak.met() {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "not measured",
    };
    let file = peak.file_bytes >> 20;
    let _ = writeln!(
        text,
        "| `upsweep {}` | {file} MiB | {memory} | {time} | under 100 MiB | {met} |",
        peak.command
    );
}

#[cfg(test)]
mod tests {
    use super::super::definition;
    use super::*;

    fn engine(name: &str, samples: [f64; 3]) -> Engine {
        Engine { name: name.into(), threads: 1, samples: samples.into() }
    }

    #[test]
    fn verdicts() {
        let figures = definition::read().expect("valid definitions");
        let cell = figures[0].cells[0].clone();
        let engines = vec![
            engine("upsweep", [1.0, 2.0, 3.0]),
            engine("upsweep.simd", [1.0, 2.0, 3.0]),
            engine("numpy", [1.9, 1.9, 1.9]),
            engine("limit.read", [1.5, 1.5, 1.5]),
        ];
        let measured = Measured { cell, engines, wrong: Vec::new(), disturbed: 0, left_out: None };
        assert!(judge(&measured, Term::Limit(0.75)) == Verdict::Met);
        assert!(judge(&measured, Term::Limit(0.76)) == Verdict::Missed);
        assert!(judge(&measured, Term::Peer(1.0)) == Verdict::Missed);
        assert!(judge(&measured, Term::Level) == Verdict::WithinNoise);
        assert!(judge(&measured, Term::Nanoseconds(3e9)) == Verdict::Met);
        let wanted = |terms: &[Term]| Wanted { text: String::new(), terms: terms.to_vec() };
        let either = wanted(&[Term::Peer(1.0), Term::Limit(0.5)]);
        assert_eq!(verdict(&measured, std::slice::from_ref(&either)), "yes");
        assert_eq!(verdict(&measured, &[either, wanted(&[Term::Peer(1.0)])]), "**no**");
    }
}
