//! What comes of a row: times and more, or why there are none.

use upsweep::RecordingProfile;

use crate::csv_fields::WRONG;
use crate::energy::Energy;
use crate::host_timing::Times;

/// What came of a row.
pub(crate) struct Outcome {
    pub(crate) times: Option<Times>,
    /// Where the time goes, if that was asked for.
    pub(crate) profile: Option<RecordingProfile>,
    /// What a call takes, if that was asked for and can be known.
    pub(crate) energy: Option<Energy>,
    /// `ok`, or why the row does not count.
    pub(crate) checked: String,
    /// Whether a result differs from the reference.
    pub(crate) wrong: bool,
}

impl Outcome {
    /// A row whose result is the reference's.
    pub(crate) fn right(times: Times, profile: Option<RecordingProfile>) -> Self {
        Self { times: Some(times), profile, energy: None, checked: "ok".to_owned(), wrong: false }
    }

    /// A row whose result is not the reference's.
    pub(crate) fn wrong() -> Self {
        Self { wrong: true, ..Self::refused(WRONG.to_owned()) }
    }

    /// A row that is not measured.
    pub(crate) fn refused(reason: String) -> Self {
        Self { times: None, profile: None, energy: None, checked: reason, wrong: false }
    }
}
