//! The page: words, figures, tables, and the rows themselves as JSON.

use std::path::PathBuf;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use time::OffsetDateTime;

use crate::error::{Failure, Result};

use super::crossover::Contest;
use super::fastest::Best;
use super::figures::{self, Names, Part};
use super::plot::{self, Figure, STYLE, Table, power_of_two};
use super::records::Data;

/// What a page says of itself.
pub(crate) struct About {
    /// What the machine is called.
    pub(crate) title: String,
    /// When and by what it was made.
    pub(crate) origin: String,
    /// What was measured, and how.
    pub(crate) how: String,
    /// What repeats it.
    pub(crate) commands: Vec<String>,
    pub(crate) names: Names,
}

/// The style sheet of everything but figures. Paper is white; figures are not torn apart by the end of a sheet.
const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--paper:#fff;--code:#f3f5f7}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#a5b0bc;--rule:#30363d;--paper:#0d1117;--code:#161b22}}
@media print{:root{color-scheme:light}}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:54rem;background:var(--paper);color:var(--ink);\
font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem}h2{font-size:1.3rem;margin:2.6rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--rule)}
.soft,figcaption,summary{color:var(--soft)}figure{margin:1.2rem 0 2rem;break-inside:avoid}
figure svg{display:block;width:100%;height:auto}figcaption{font-size:.92rem;margin:.4rem 0}
details{overflow-x:auto;margin:.4rem 0}summary{cursor:pointer;font-size:.92rem}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}th,td{padding:.2rem .7rem .2rem 0;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}
td.n,th.n{text-align:right}pre{background:var(--code);padding:.8rem 1rem;overflow-x:auto;font-size:.85rem}
@media print{body{max-width:none;padding:0;font-size:11pt}pre{white-space:pre-wrap}details:not([open]){display:none}}
";

/// What can be read out of a page.
#[derive(Serialize)]
struct PageData<'a> {
    version: &'static str,
    title: &'a str,
    origin: &'a str,
    devices: &'a Names,
    #[serde(flatten)]
    data: &'a Data,
}

/// A page with its rows and figures.
pub struct Page {
    data: Data,
    about: About,
    parts: Vec<Part>,
}

impl Page {
    /// Of these rows, some devices of which have other names than these say.
    pub(super) fn new(data: Data, mut about: About, names: &[(String, String)]) -> Result<Self> {
        about.names.extend(names.iter().cloned());
        if data.is_empty() {
            return Err(Failure::usage("there is no row to show"));
        }
        let parts = figures::all(&data, &about.names);
        Ok(Self { data, about, parts })
    }

    /// Of the rows of these files, which `bench`, `tune` and `ladder` wrote. `names` are what figures call some devices, by their ids.
    ///
    /// # Errors
    /// Files that cannot be read or are none of these, and none that has a row.
    pub fn of_records(
        paths: &[PathBuf],
        title: Option<String>,
        names: &[(String, String)],
    ) -> Result<Self> {
        let mut data = Data::default();
        for path in paths {
            data.read(path)?;
        }
        let date = OffsetDateTime::now_utc().date();
        let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let about = About {
            title: title.unwrap_or_else(|| "recorded measurements".to_owned()),
            origin: format!("made on {date} by upsweep {}", env!("CARGO_PKG_VERSION")),
            how: format!("The rows are those of {}, as they were recorded.", files.join(", ")),
            commands: vec![format!("upsweep report --from {}", files.join(","))],
            names: Names::new(),
        };
        Self::new(data, about, names)
    }

    /// The heading.
    pub fn title(&self) -> &str {
        &self.about.title
    }

    /// The names of all figures, and each as an SVG file that needs nothing else.
    pub fn figures(&self) -> impl Iterator<Item = (&str, String)> {
        let figures = self.parts.iter().flat_map(|part| &part.figures);
        figures.map(|figure| (figure.name.as_str(), plot::standalone(figure)))
    }

    /// The whole page.
    ///
    /// # Errors
    /// Rows that cannot be written as JSON.
    pub fn html(&self) -> Result<String> {
        page(&self.data, &self.about, &self.parts)
    }
}

fn page(data: &Data, about: &About, parts: &[Part]) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let (title, origin) = (about.title.as_str(), about.origin.as_str());
    let readable = PageData { version, title, origin, devices: &about.names, data };
    let json = serde_json::to_string(&readable)
        .map_err(|error| Failure::usage(format!("the rows cannot be written as JSON: {error}")))?;
    // Within a script nothing ends it but its own end, or begins another: JSON has '<' in texts only, and another way to write it.
    let json = json.replace('<', "\\u003c");
    let best = Best::all(data);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="generator" content=(format!("upsweep {version}"));
                title { "upsweep on " (title) }
                style { (PreEscaped(PAGE_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                h1 { "upsweep on " (title) }
                p.soft { (origin) }
                p { (about.how) }
                h2 { "In short" }
                (in_short(&best, data, &about.names))
                @for part in parts {
                    h2 { (part.title) }
                    @if part.figures.is_empty() { p.soft { (part.missing) } }
                    @for figure in &part.figures { (drawn(figure)) }
                }
                h2 { "The best strategies" }
                p { "The fastest that was found of each job at each length, over all rows of this page." }
                div.wide { (table("best", &best_table(&best))) }
                h2 { "Again" }
                p { "These commands of upsweep measure or show what this page shows; upsweep report runs them all:" }
                pre { @for command in &about.commands { (command) "\n" } }
                script type="application/json" id="data" { (PreEscaped(json)) }
            }
        }
    };
    Ok(page.into_string() + "\n")
}

fn drawn(figure: &Figure) -> Markup {
    html! {
        figure id=(figure.name) {
            (plot::figure(figure))
            figcaption { strong { (figure.title) } ". " (figure.caption) }
            details {
                summary { "The numbers" }
                (table(&format!("{}-table", figure.name), &figure.table))
            }
        }
    }
}

/// A table; columns of numbers end at the same place.
fn table(id: &str, table: &Table) -> Markup {
    let is_number = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok())
    };
    let numbers: Vec<bool> = (0..table.columns.len()).map(is_number).collect();
    let class = |column: usize| numbers.get(column).copied().unwrap_or(false).then_some("n");
    html! {
        table id=(id) {
            thead { tr {
                @for (number, column) in table.columns.iter().enumerate() {
                    th class=[class(number)] { (column) }
                }
            } }
            tbody {
                @for row in &table.rows {
                    tr { @for (number, cell) in row.iter().enumerate() { td class=[class(number)] { (cell) } } }
                }
            }
        }
    }
}

fn best_table(best: &[Best]) -> Table {
    let row = |best: &Best| {
        let (threads, items) = best.sizes.map_or(Default::default(), |(threads, items)| {
            (threads.to_string(), items.to_string())
        });
        let number = |value: Option<f64>, places: usize| {
            value.map_or(String::new(), |value| format!("{value:.places$}"))
        };
        vec![
            best.device.clone(),
            best.op.clone(),
            best.dtype.clone(),
            best.n.to_string(),
            best.strategy.clone(),
            threads,
            items,
            number(Some(best.median_us), 3),
            number(best.gbps, 3),
            number(best.percent(), 1),
        ]
    };
    Table {
        columns: vec![
            "device",
            "op",
            "dtype",
            "n",
            "strategy",
            "threads",
            "values",
            "median µs",
            "GB/s",
            "% of limit",
        ],
        rows: best.iter().map(row).collect(),
    }
}

/// A list of sentences.
fn in_short(best: &[Best], data: &Data, names: &Names) -> Markup {
    let called = |id: &str| names.get(id).map_or(id.to_owned(), |name| format!("{name} ({id})"));
    let longest = Best::longest(best);
    html! {
        ul {
            @for best in longest {
                li {
                    b { (best.op) " of " (best.dtype) } " on " (called(&best.device)) ", "
                    (power_of_two(best.n as f64)) " items: "
                    @if let Some(gbps) = best.gbps { (format!("{gbps:.1} GB/s")) } @else { (format!("{:.1} µs", best.median_us)) }
                    @if let Some(percent) = best.percent() { (format!(", {percent:.1} % of the limit")) }
                    ", by " code { (best.strategy) } "."
                }
            }
            @for contest in Contest::all(data) {
                @for other in &contest.others {
                    li {
                        b { (contest.op) " of " (contest.dtype) } ": "
                        (other.crossing.sentence(&called(&other.device), other.place))
                    }
                }
            }
        }
    }
}
