//! `upsweep report`: a page holds what was recorded or measured, needs nothing else, and is seen in a browser.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Place;
use serde_json::Value;

/// Records of an H200 that are kept with the sources.
const RECORDS: [&str; 3] = [
    "2026-11-22-cuda-bench.csv",
    "2026-11-23-tune-cuda-f32.csv",
    "2026-11-21-wgpu-bench-reduce.csv",
];

fn record(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/record/nvidia-h200").join(name)
}

/// A page of the kept records, and their paths between commas.
fn page_of_records(place: &Place, more: &str) -> (String, String) {
    let paths = RECORDS.map(|name| record(name).display().to_string()).join(",");
    let said = place.run(&format!("report --from {paths} --title H200 -o page.html {more}")).text();
    assert_eq!(said, "report of H200: page.html\n");
    (String::from_utf8(place.read("page.html")).expect("text"), paths)
}

/// What the page holds for programs.
fn data(page: &str) -> Value {
    let begun = "<script type=\"application/json\" id=\"data\">";
    let json = page.split_once(begun).expect("it has data").1;
    serde_json::from_str(json.split_once("</script>").expect("it ends").0).expect("JSON")
}

/// Checks that the rows of a page are those of the records, number by number.
#[track_caller]
fn check_rows<'a>(kind: &str, page: &Value, records: impl Iterator<Item = &'a [u8]>) -> usize {
    let rows = page[kind].as_array().expect("a list");
    let mut next = rows.iter();
    for text in records {
        let mut reader = csv::Reader::from_reader(text);
        let columns = reader.headers().expect("columns").clone();
        for record in reader.records() {
            let row = next.next().expect("as many rows");
            for (column, field) in columns.iter().zip(&record.expect("a row")) {
                match &row[column] {
                    Value::String(text) => assert_eq!(text, field),
                    Value::Null => assert_eq!(field, "", "{column} of {row}"),
                    number => {
                        let field: f64 = field.parse().expect("a number");
                        assert_eq!(number.as_f64(), Some(field), "{column} of {row}");
                    }
                }
            }
        }
    }
    assert_eq!(next.count(), 0);
    rows.len()
}

/// Checks that nothing in a page or a figure is fetched from anywhere.
#[track_caller]
fn check_alone(text: &str) {
    let text = text.replace("http://www.w3.org/2000/svg", "");
    for fetched in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<iframe"] {
        assert!(!text.contains(fetched), "{fetched}");
    }
}

#[test]
fn records_become_a_page() {
    let place = Place::new();
    let (page, _) = page_of_records(&place, "--figures figures");
    check_alone(&page);
    let read = data(&page);
    let texts = RECORDS.map(|name| fs::read(record(name)).expect("a record"));
    let [bench, tune, other] = &texts;
    let of_bench = [bench, other].into_iter().map(|text| &text[..]);
    assert_eq!(check_rows("bench", &read, of_bench), 30);
    assert_eq!(check_rows("tune", &read, [&tune[..]].into_iter()), 2781);
    assert_eq!(read["ladder"].as_array().map(Vec::len), Some(0));
    // What is not there is said.
    for sentence in ["both on a CPU and on a GPU", "seven classic steps were not run"] {
        assert!(page.contains(sentence), "{sentence}");
    }
    let mut names: Vec<String> = fs::read_dir(place.path("figures"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    for wanted in [
        "length-reduce-f32",
        "levels-cuda-0-reduce-f32",
        "roofline-wgpu-0",
        "sweep-cuda-0-reduce-f32",
    ] {
        assert!(names.contains(&format!("{wanted}.svg")), "{wanted}: {names:?}");
    }
    for name in names {
        let text = String::from_utf8(place.read(&format!("figures/{name}"))).expect("text");
        check_alone(&text);
        let svg = roxmltree::Document::parse(&text).expect("a figure is XML");
        let has = |tag: &str| {
            svg.descendants().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)))
        };
        assert!(has("title") && has("desc") && has("style"), "{name}");
        let ids: Vec<&str> = svg.descendants().filter_map(|node| node.attribute("id")).collect();
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
        // Nothing is drawn outside of the figure.
        for text in svg.descendants().filter(|node| node.has_tag_name("path")) {
            assert!(!text.attribute("d").unwrap_or_default().contains("NaN"), "{name}");
        }
    }
}

#[test]
fn a_cpu_is_measured_and_its_rows_make_the_same_page() {
    let place = Place::new();
    place.run("report --device cpu --n 2^8,2^10,2^12 --budget 20s --save rows --title <T&\"> -o a.html").text();
    let page = String::from_utf8(place.read("a.html")).expect("text");
    check_alone(&page);
    assert!(page.contains("<h1>upsweep on &lt;T&amp;&quot;&gt;</h1>"));
    let read = data(&page);
    let rows = place.read("rows/bench.csv");
    let count = check_rows("bench", &read, [&rows[..]].into_iter());
    // Two jobs at three lengths by three strategies, and of four types at the longest.
    assert_eq!(count, 2 * 3 * 3 + 2 * 4);
    // Two jobs on rows of four lengths along two axes.
    let along = place.read("rows/rows.csv");
    assert_eq!(check_rows("rows", &read, [&along[..]].into_iter()), 2 * 4 * 2);
    assert_eq!(read["title"], "<T&\">");
    for row in ["bench", "rows"].iter().flat_map(|kind| read[kind].as_array().expect("a list")) {
        assert_eq!(row["checked"], "ok", "{row}");
        let [least, middle, most] =
            ["min_us", "median_us", "max_us"].map(|time| row[time].as_f64());
        assert!(least <= middle && middle <= most && least > Some(0.0), "{row}");
    }
    for strategy in ["scalar", "simd", "simd+threads"] {
        assert!(page.contains(&format!(">{strategy}</text>")), "{strategy}");
    }
    place.run("report --from rows/bench.csv,rows/rows.csv -o b.html").text();
    let again = String::from_utf8(place.read("b.html")).expect("text");
    assert_eq!(data(&again)["bench"], read["bench"]);
    assert_eq!(data(&again)["rows"], read["rows"]);
    let figures = |page: &str| {
        let svgs = page
            .split("<svg")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once("</svg>")?.0.to_owned()));
        // The name of the device is all that a record does not know.
        let name = read["devices"]["cpu"].as_str().expect("a name");
        svgs.map(|svg| svg.replace(&format!("{name} (cpu)"), "cpu")).collect::<Vec<_>>()
    };
    assert!(figures(&page).len() > 2);
    assert_eq!(figures(&page), figures(&again));
}

#[test]
fn rows_along_axes_have_a_figure() {
    let place = Place::new();
    let bench = "bench --device cpu --op reduce,inclusive_scan --n 2^12 --rows 2,16,100 --samples 1 --csv rows.csv";
    place.run(bench).text();
    place.run("report --from rows.csv -o page.html --figures figures").text();
    let page = String::from_utf8(place.read("page.html")).expect("text");
    check_alone(&page);
    let rows = place.read("rows.csv");
    let read = data(&page);
    assert_eq!(check_rows("rows", &read, [&rows[..]].into_iter()), 2 * 2 * 3);
    // They are no arrays of 2^12 items in other figures and tables.
    assert_eq!(read["bench"].as_array().map(Vec::len), Some(0));
    assert!(!page.contains("id=\"length-") && page.contains("No job was measured against a limit"));
    let names = ["rows-reduce-f32-4096", "rows-inclusive-scan-f32-4096"];
    for name in names {
        let text = String::from_utf8(place.read(&format!("figures/{name}.svg"))).expect("text");
        check_alone(&text);
        for line in [">rows</text>", ">columns</text>", ">items of a row</text>", "2¹² f32"] {
            assert!(text.contains(line), "{line} is not in {name}");
        }
    }
    let Some(dom) = browse(&place, &["--dump-dom".to_owned()]) else { return };
    let dom = String::from_utf8(dom).expect("text");
    assert_eq!(data(&dom), read);
    for name in names {
        let table = dom.split_once(&format!("id=\"{name}-table\"")).expect("a table").1;
        let table = table.split_once("</table>").expect("its end").0;
        assert_eq!(table.matches("<tr>").count(), 1 + 2 * 3, "{table}");
        assert_eq!(table.matches(">columns</td>").count(), 3, "{table}");
    }
}

#[test]
fn what_cannot_be_shown_leaves_nothing_behind() {
    let place = Place::new();
    let bench = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,pct_of_limit,first_call_us,checked\n";
    place.write("garbage.csv", b"\x00\xff\n\"");
    place.write("foreign.csv", b"a,b\n1,2\n");
    place.write("short.csv", format!("{bench}cpu,reduce\n").as_bytes());
    place.write(
        "words.csv",
        format!("{bench}cpu,reduce,f32,many,simd,1,1,1,1,1,1,1,ok\n").as_bytes(),
    );
    place.write("empty.csv", bench.as_bytes());
    fs::create_dir(place.path("folder.html")).expect("a folder");
    let before = place.names();
    for (arguments, why) in [
        ("report --from absent.csv", "cannot read 'absent.csv'"),
        ("report --from garbage.csv", "garbage.csv"),
        ("report --from foreign.csv", "'foreign.csv': no record"),
        ("report --from short.csv", "'short.csv': CSV error"),
        ("report --from words.csv", "line: 2"),
        ("report --from empty.csv", "no row to show"),
        ("report --from foreign.csv -o nowhere/page.html", "nowhere/page.html"),
        ("report --device cpu -o folder.html", "folder.html"),
        ("report --from foreign.csv --n 2^10", "--n"),
        ("report --device abacus", "abacus"),
        ("report --device cpu --budget soon", "no time such as 60s"),
        ("report --from foreign.csv --figures garbage.csv", "garbage.csv"),
    ] {
        place.run(arguments).refused_for(why);
        assert_eq!(place.names(), before, "{arguments}");
    }
}

#[test]
fn rows_that_would_end_the_script_do_not() {
    let place = Place::new();
    let row = "cpu,reduce,f32,8,</script><script>alert(1)</script>,1,1,1,1,2,50,1,ok\n";
    let columns = "device,op,dtype,n,strategy,median_us,min_us,max_us,gbps,limit_gbps,pct_of_limit,first_call_us,checked";
    place.write("rows.csv", format!("{columns}\n{row}").as_bytes());
    let page = place.run("report --from rows.csv -o -").text();
    assert!(!page.contains("<script>"));
    assert_eq!(data(&page)["bench"][0]["strategy"], "</script><script>alert(1)</script>");
    assert_eq!(place.names(), ["rows.csv"]);
}

/// Chromium, if it is here; where it must be, its absence is a failure.
fn chromium(place: &Place) -> Option<Command> {
    let is_here = Command::new("chromium")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_here {
        let needed = std::env::var("UPSWEEP_TEST_CHROMIUM").is_ok_and(|said| said == "required");
        assert!(!needed, "chromium is required and not here");
        println!("skipped: there is no chromium");
        return None;
    }
    let mut chromium = Command::new("chromium");
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--window-size=900,1600",
    ]);
    chromium.arg(format!("--user-data-dir={}", place.path("profile").display()));
    chromium.stderr(Stdio::null());
    Some(chromium)
}

/// The page in a browser, which is asked for something.
fn browse(place: &Place, arguments: &[String]) -> Option<Vec<u8>> {
    let mut chromium = chromium(place)?;
    let output = chromium
        .args(arguments)
        .arg(format!("file://{}", place.path("page.html").display()))
        .output()
        .expect("it ran before");
    assert!(output.status.success(), "{arguments:?}");
    Some(output.stdout)
}

/// The brightness of each pixel of a screenshot, from 0 to 255.
fn brightness(place: &Place, name: &str) -> Vec<u8> {
    let file = fs::File::open(place.path(name)).expect("a screenshot");
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!(info.bit_depth, png::BitDepth::Eight);
    let channels = info.color_type.samples();
    assert!(channels >= 3, "it has colours");
    let mean = |pixel: &[u8]| {
        let sum: u32 = pixel[..3].iter().map(|&channel| u32::from(channel)).sum();
        u8::try_from(sum / 3).expect("a mean of bytes")
    };
    pixels[..info.buffer_size()].chunks_exact(channels).map(mean).collect()
}

#[test]
fn a_browser_shows_it() {
    let place = Place::new();
    let (page, _) = page_of_records(&place, "");
    let Some(dom) = browse(&place, &["--dump-dom".to_owned()]) else { return };
    let dom = String::from_utf8(dom).expect("text");
    // The browser has read the same rows, and the numbers in the tables are theirs.
    let read = data(&dom);
    assert_eq!(read, data(&page));
    let table = dom
        .split_once("id=\"best\"")
        .expect("a table")
        .1
        .split_once("</table>")
        .expect("its end")
        .0;
    let cells = |row: &str| -> Vec<String> {
        let cells =
            row.split("<td").skip(1).filter_map(|cell| cell.split_once('>')?.1.split_once('<'));
        cells.map(|(text, _)| text.to_owned()).collect()
    };
    let rows: Vec<Vec<String>> =
        table.split("<tr>").map(cells).filter(|row| !row.is_empty()).collect();
    assert!(rows.len() > 20, "{}", rows.len());
    for row in &rows {
        let [device, op, dtype, n] = [0, 1, 2, 3].map(|column| row[column].as_str());
        let same = |found: &&Value| {
            found["device"] == device
                && found["op"] == op
                && found["dtype"] == dtype
                && found["n"].as_u64() == n.parse().ok()
        };
        let all = ["bench", "tune"].map(|kind| read[kind].as_array().expect("a list"));
        let times = all.into_iter().flatten().filter(same).filter(|found| found["checked"] == "ok");
        let least =
            times.filter_map(|found| found["median_us"].as_f64()).fold(f64::INFINITY, f64::min);
        assert_eq!(row[7], format!("{least:.3}"), "{row:?}");
    }
    let shot = |name: &str, more: &[&str]| {
        let mut arguments = vec![format!("--screenshot={}", place.path(name).display())];
        arguments.extend(more.iter().map(|&more| more.to_owned()));
        browse(&place, &arguments);
        brightness(&place, name)
    };
    let light = shot("light.png", &["--blink-settings=preferredColorScheme=1"]);
    let dark = shot("dark.png", &["--blink-settings=preferredColorScheme=0"]);
    assert_eq!(light.len(), 900 * 1600);
    assert_eq!(light.len(), dark.len());
    // Most of a page is paper, and a part of it is not.
    let part = |shot: &[u8], is: fn(u8) -> bool| {
        shot.iter().filter(|&&pixel| is(pixel)).count() as f64 / shot.len() as f64
    };
    assert!(part(&light, |pixel| pixel > 240) > 0.8 && part(&light, |pixel| pixel < 128) > 0.003);
    assert!(part(&dark, |pixel| pixel < 40) > 0.8 && part(&dark, |pixel| pixel > 128) > 0.003);
    browse(&place, &[format!("--print-to-pdf={}", place.path("page.pdf").display())]);
    let pdf = place.read("page.pdf");
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
}

#[test]
fn the_figures_of_the_documentation_are_those_of_the_record() {
    let place = Place::new();
    let record = record("2026-11-23-tune-cuda-f32.csv");
    let mut report = place.program();
    report.args(["report", "--name", "cuda:0=NVIDIA H200", "--figures", "figures", "--from"]);
    crate::common::Ran::new(report.arg(record), b"").text();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures");
    let names =
        fs::read_dir(&kept).expect("figures").map(|entry| entry.expect("an entry").file_name());
    let names: Vec<_> = names.collect();
    assert_eq!(names.len(), 2);
    for name in names {
        let made = fs::read_to_string(place.path("figures").join(&name)).expect("it is made");
        assert!(made == fs::read_to_string(kept.join(&name)).expect("text"), "{name:?} is another");
    }
}
