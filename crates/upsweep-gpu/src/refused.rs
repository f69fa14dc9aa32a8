//! The texts of kernels that do not compile.

use core::fmt::Write;

/// Shows the text of a kernel that its compiler refuses, on standard error, if `UPSWEEP_LOG` is `debug`.
pub fn show_refused(text: &str) {
    if std::env::var_os("UPSWEEP_LOG").is_some_and(|value| value == "debug") {
        eprintln!("{}", numbered(text));
    }
}

/// The text with the numbers of its lines, to which messages refer.
fn numbered(text: &str) -> String {
    let mut result = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let _ = writeln!(result, "{number:5} {line}");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers() {
        assert_eq!(numbered("a\nb"), "    1 a\n    2 b\n");
    }
}
