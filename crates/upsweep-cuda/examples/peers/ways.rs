//! Ways of ours to do a job, for engines to compare.

use upsweep_core::{Error, Result, Strategy, WorkgroupPolicy};

use crate::contest::Engine;

/// A strategy and a policy; what is not given is chosen.
pub(crate) struct Way<S> {
    pub(crate) name: String,
    pub(crate) strategy: Option<S>,
    pub(crate) policy: Option<WorkgroupPolicy>,
}

impl<S> Way<S> {
    /// An engine of it, run once so that its result can be checked; `None` if the device refuses it, and says why.
    pub(crate) fn engine<'a>(
        &self,
        mut run: impl FnMut(usize) -> Result<()> + 'a,
    ) -> Result<Option<Engine<'a>>> {
        match run(1) {
            Err(refused @ Error::StrategyRefused { .. }) => {
                eprintln!("{refused}");
                Ok(None)
            }
            ran => ran.map(|()| Some(Engine::new(&self.name, run))),
        }
    }
}

/// What is chosen where nothing is asked for; and of `all` those whose names have a part that `STRATEGIES` lists, by the policies
/// that `POLICIES` does, as `256x64,512x16`.
pub(crate) fn ways<S: Copy>(
    all: impl Iterator<Item = S>,
    written: fn(S) -> Strategy,
) -> Vec<Way<S>> {
    let (parts, policies) = (listed("STRATEGIES"), listed("POLICIES"));
    let asked = all
        .map(|strategy| (written(strategy).to_string(), Some(strategy)))
        .filter(|(name, _)| parts.iter().any(|part| name.contains(part.as_str())));
    let strategies = [("upsweep".to_owned(), None)].into_iter().chain(asked);
    strategies
        .flat_map(|(name, strategy)| {
            let named = policies.iter().map(|policy| (format!("{name} {policy}"), parsed(policy)));
            let chosen = [(name.clone(), None)];
            let all: Vec<_> = chosen.into_iter().chain(named).collect();
            all.into_iter().map(move |(name, policy)| Way { name, strategy, policy })
        })
        .collect()
}

/// The words of a variable, between commas.
fn listed(variable: &str) -> Vec<String> {
    let words = std::env::var(variable).unwrap_or_default();
    words.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Threads of a workgroup by items of a thread.
fn parsed(policy: &str) -> Option<WorkgroupPolicy> {
    let number = |digits: &str| digits.parse().expect("a policy is threads x items");
    let (threads, items) = policy.split_once('x').expect("a policy is threads x items");
    Some(WorkgroupPolicy {
        threads_per_workgroup: number(threads),
        items_per_thread: number(items),
    })
}
