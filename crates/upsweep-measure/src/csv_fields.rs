//! Fields of the records that `bench`, `tune` and `ladder` write as CSV.

/// What is said of a result that is not the reference's.
pub const WRONG: &str = "the result differs from the reference";

/// Microseconds as records have them.
pub fn micros(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

/// A field of a record, in quotes where it needs them.
pub fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("ok"), "ok");
        assert_eq!(quoted("no, \"why\""), "\"no, \"\"why\"\"\"");
    }
}
