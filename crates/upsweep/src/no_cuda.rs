//! In the place of `cuda.rs` where feature `cuda` is off: the same words, of which there is nothing.

use crate::{Error, Result};

pub(crate) fn absence() -> String {
    "upsweep was built without its feature cuda".to_owned()
}

pub(crate) fn open<T>(id: &str, _: &str) -> Result<T> {
    Err(Error::NoDevice { id: id.to_owned(), reason: absence() })
}
