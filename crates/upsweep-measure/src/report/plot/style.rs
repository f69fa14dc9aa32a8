//! The style sheet of figures.

/// Colours of Okabe and Ito, *Color Universal Design* (2008), which people of any colour vision tell apart; on white the
/// yellow ones are darker, on black the blue ones lighter, so that thin lines are seen. Paper is white whatever the screen is.
pub(crate) const STYLE: &str = "\
.figure{--ink:#1b1f24;--soft:#57606a;--grid:#e3e6ea;--paper:#ffffff;\
--c0:#0072b2;--c1:#d55e00;--c2:#007a5a;--c3:#b5579b;--c4:#a86f00;--c5:#3a9bd6;--c6:#5a5a5a;--c7:#7a2e00;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:13px}
@media screen and (prefers-color-scheme:dark){.figure{--ink:#e6edf3;--soft:#a5b0bc;--grid:#30363d;--paper:#0d1117;\
--c0:#4fa8e0;--c1:#ff8b45;--c2:#2ecc9a;--c3:#e59bcb;--c4:#f0b429;--c5:#a6dbff;--c6:#b8b8b8;--c7:#ffc9a3}}
.figure text{fill:var(--ink)}.figure .soft{fill:var(--soft)}.figure .title{font-weight:600;font-size:14px}
.figure .paper{fill:var(--paper)}.figure .grid{stroke:var(--grid);stroke-width:1;fill:none}
.figure .frame{stroke:var(--soft);stroke-width:1;fill:none}
.figure .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.figure .spread{stroke-width:1.4;opacity:.65;fill:none}
.figure .dot{stroke-width:1.6}
.figure .ring .dot,.figure .ring.dot{fill:var(--paper)}
.figure .limit{stroke:var(--ink);stroke-width:1.6;stroke-dasharray:10 5;fill:none}
.figure .ceiling{stroke:var(--soft);stroke-width:1.6;stroke-dasharray:2 4;fill:none}
.figure .mark{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:4 4}
.figure .bar{fill:var(--c0)}.figure .goal{fill:var(--c2)}
.figure .s0{stroke:var(--c0)}.figure .s1{stroke:var(--c1)}.figure .s2{stroke:var(--c2)}.figure .s3{stroke:var(--c3)}\
.figure .s4{stroke:var(--c4)}.figure .s5{stroke:var(--c5)}.figure .s6{stroke:var(--c6)}.figure .s7{stroke:var(--c7)}
.figure .f0{fill:var(--c0)}.figure .f1{fill:var(--c1)}.figure .f2{fill:var(--c2)}.figure .f3{fill:var(--c3)}\
.figure .f4{fill:var(--c4)}.figure .f5{fill:var(--c5)}.figure .f6{fill:var(--c6)}.figure .f7{fill:var(--c7)}
.figure .line.s1{stroke-dasharray:7 4}.figure .line.s2{stroke-dasharray:2 4}.figure .line.s3{stroke-dasharray:9 4 2 4}\
.figure .line.s4{stroke-dasharray:4 3}.figure .line.s5{stroke-dasharray:12 4}.figure .line.s6{stroke-dasharray:6 3 2 3 2 3}\
.figure .line.s7{stroke-dasharray:3 6}
";

/// How many series can be told apart.
pub(crate) const LOOKS: usize = 8;

/// The outline of a point: a shape of its own for each series, so that colour is not needed.
pub(crate) fn shape(look: usize, x: f64, y: f64) -> String {
    let corners = |corners: &[(f64, f64)]| {
        let at = corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy));
        format!("M{}Z", at.collect::<Vec<_>>().join("L"))
    };
    match look % LOOKS {
        0 => format!("M{:.1},{y:.1}a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", x - 4.0),
        1 => corners(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        2 => corners(&[(0.0, -4.8), (4.6, 3.6), (-4.6, 3.6)]),
        3 => corners(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
        4 => corners(&[(0.0, 4.8), (4.6, -3.6), (-4.6, -3.6)]),
        5 => corners(&[(-4.8, -1.6), (4.8, -1.6), (4.8, 1.6), (-4.8, 1.6)]),
        6 => corners(&[(-1.6, -4.8), (1.6, -4.8), (1.6, 4.8), (-1.6, 4.8)]),
        _ => corners(&[(-4.6, 0.0), (3.6, -4.6), (3.6, 4.6)]),
    }
}
