//! How much energy a call takes, by a counter that moves in steps.

use std::time::{Duration, Instant};

/// A counter of joules that only grows.
pub(crate) type Counter<'a> = &'a mut dyn FnMut() -> Result<f64, String>;

/// A counter that stands still for so long does not count this work.
const STILL: Duration = Duration::from_secs(2);

/// What was found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// Of one call, with what the device draws anyway meanwhile.
    pub joules: f64,
    /// What it drew in a pause right behind.
    pub idle_watts: f64,
}

/// Works for at least `least` between two steps of the counter, and then pauses as long. `work` does so many calls as it
/// says, and has done them when it returns.
pub(crate) fn energy(
    least: Duration,
    counter: Counter<'_>,
    work: &mut dyn FnMut() -> Result<u32, String>,
) -> Result<Energy, String> {
    let (joules, calls, _) = between_steps(least, counter, work)?;
    let mut pause = || {
        std::thread::sleep(Duration::from_millis(1));
        Ok(1)
    };
    let (idle, _, seconds) = between_steps(least, counter, &mut pause)?;
    Ok(Energy { joules: joules / calls as f64, idle_watts: idle / seconds })
}

/// Joules, calls and seconds between two steps of the counter.
fn between_steps(
    least: Duration,
    counter: Counter<'_>,
    work: &mut dyn FnMut() -> Result<u32, String>,
) -> Result<(f64, u64, f64), String> {
    let mut to_step = |least: Duration| -> Result<(f64, u64), String> {
        let (begun, before) = (Instant::now(), counter()?);
        let mut calls = 0;
        loop {
            calls += u64::from(work()?);
            let spent = begun.elapsed();
            if spent < least {
                continue;
            }
            let now = counter()?;
            if now > before {
                return Ok((now, calls));
            }
            if spent > least + STILL {
                return Err("the energy counter stands still".to_owned());
            }
        }
    };
    let (first, _) = to_step(Duration::ZERO)?;
    let begun = Instant::now();
    let (_, calls) = to_step(least)?;
    // The counter moved some time before it was looked at: on to its next step.
    let (last, more) = to_step(Duration::ZERO)?;
    Ok((last - first, calls + more, begun.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn steps_are_whole() {
        // A call takes 3 J, and the counter moves in steps of 30 J.
        let spent = Cell::new(7.0);
        let mut counter = || Ok((spent.get() / 30.0_f64).floor() * 30.0);
        let mut work = || {
            spent.set(spent.get() + 3.0);
            Ok(1)
        };
        let found = between_steps(Duration::ZERO, &mut counter, &mut work);
        let (joules, calls, _) = found.expect("it moves");
        assert_eq!(joules / calls as f64, 3.0);
    }

    #[test]
    fn failures_are_handed_on() {
        let failing = energy(Duration::ZERO, &mut || Err("no".to_owned()), &mut || Ok(1));
        assert_eq!(failing, Err("no".to_owned()));
        let mut joules = 0.0;
        let mut counter = || {
            joules += 1.0;
            Ok(joules)
        };
        let failing = energy(Duration::ZERO, &mut counter, &mut || Err("it broke".to_owned()));
        assert_eq!(failing, Err("it broke".to_owned()));
    }
}
