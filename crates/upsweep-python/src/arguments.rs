//! Arguments that several functions have.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use upsweep::any::Op;

use crate::error::raise;

/// The axes that `axis=` names, in order: all of them for `None`.
///
/// # Errors
/// `ValueError` if there is no such axis or one is named twice, `TypeError` for what is no number.
pub(crate) fn axes(axis: Option<&Bound<'_, PyAny>>, dimensions: usize) -> PyResult<Vec<usize>> {
    let Some(axis) = axis else { return Ok((0..dimensions).collect()) };
    let numbers = match axis.cast::<PyTuple>() {
        Ok(several) => several.extract::<Vec<isize>>(),
        Err(_) => axis.extract::<isize>().map(|axis| vec![axis]),
    };
    let numbers = numbers.map_err(|_| {
        let text = "axis is an integer, a tuple of integers or None";
        PyTypeError::new_err(text)
    })?;
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        let axis = if number < 0 { number + dimensions as isize } else { number };
        let axis = usize::try_from(axis).ok().filter(|axis| *axis < dimensions);
        let axis = axis.ok_or_else(|| {
            let text =
                format!("axis {number} is out of bounds for an array of {dimensions} dimensions");
            PyValueError::new_err(text)
        })?;
        if found.contains(&axis) {
            return Err(PyValueError::new_err(format!("axis {number} is named twice")));
        }
        found.push(axis);
    }
    found.sort_unstable();
    Ok(found)
}

/// The shape of a reduction along these axes.
pub(crate) fn reduced(shape: &[usize], axes: &[usize], keepdims: bool) -> Vec<usize> {
    let kept = |(axis, &len): (usize, &usize)| match axes.contains(&axis) {
        false => Some(len),
        true => keepdims.then_some(1),
    };
    shape.iter().enumerate().filter_map(kept).collect()
}

/// The operator with this name; `prod` is numpy's name of the product.
pub(crate) fn operator(name: &str) -> PyResult<Op> {
    match name {
        "prod" => Ok(Op::Product),
        name => name.parse().map_err(raise),
    }
}

/// The operator that an argument names.
pub(crate) fn named_operator(op: &Bound<'_, PyAny>) -> PyResult<Op> {
    if let Ok(name) = op.extract::<String>() {
        return operator(&name);
    }
    let text = format!("op is a {}, and neither a name nor an Operator", op.get_type().name()?);
    Err(PyTypeError::new_err(text))
}
