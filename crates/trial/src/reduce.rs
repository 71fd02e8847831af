//! Makes a program that fails smaller, as long as it fails: delta debugging over its steps.
//!
//! What is left is *1-minimal*: without any one of its steps, or of its groups, it does not fail any more (or the budget was
//! spent first). The caller keeps programs well-formed: `repair` gets what is left of one and returns it without the steps
//! that became impossible, and with what has to be added (an unlock, an end).

/// How to reduce a list of steps.
pub struct Reducer<'a, S> {
    /// Steps that go together, if they go: those of one thread, for instance. Tried first.
    pub group: &'a dyn Fn(&S) -> u64,
    /// Makes a well-formed program of what is left of one.
    pub repair: &'a dyn Fn(Vec<S>) -> Vec<S>,
    /// How many programs may be tried.
    pub budget: usize,
}

impl<S: Clone + PartialEq> Reducer<'_, S> {
    /// The smallest program that was found to fail. `steps` must fail.
    pub fn reduce(&self, steps: Vec<S>, mut fails: impl FnMut(&[S]) -> bool) -> Vec<S> {
        let mut left = self.budget;
        let mut smallest = steps;
        let mut attempt = |candidate: Vec<S>, smallest: &mut Vec<S>| {
            let candidate = (self.repair)(candidate);
            if candidate.len() >= smallest.len() || left == 0 {
                return false;
            }
            left -= 1;
            let failed = fails(&candidate);
            if failed {
                *smallest = candidate;
            }
            failed
        };
        loop {
            let before = smallest.len();
            let mut groups: Vec<u64> = smallest.iter().map(self.group).collect();
            groups.sort_unstable();
            groups.dedup();
            for group in groups {
                let rest = smallest.iter().filter(|step| (self.group)(step) != group).cloned().collect();
                attempt(rest, &mut smallest);
            }
            let mut size = smallest.len().next_power_of_two() / 2;
            while size > 0 {
                let mut at = 0;
                while at < smallest.len() {
                    let end = (at + size).min(smallest.len());
                    let rest = [&smallest[..at], &smallest[end..]].concat();
                    if !attempt(rest, &mut smallest) {
                        at = end;
                    }
                }
                size /= 2;
            }
            if smallest.len() == before {
                return smallest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reducer;

    /// Steps are (thread, number); those with the number 0 open something that those with 1 close.
    fn repair(steps: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
        let mut open = 0;
        let mut kept = Vec::new();
        for step in steps {
            match step.1 {
                0 => open += 1,
                1 if open == 0 => continue,
                1 => open -= 1,
                _ => {}
            }
            kept.push(step);
        }
        kept.extend((0..open).map(|_| (9, 1)));
        kept
    }

    #[test]
    fn what_is_not_needed_goes_and_what_is_left_is_well_formed() {
        let steps: Vec<(u64, u32)> = (0..200).map(|i| (i % 5, (i * 7 % 23) as u32)).collect();
        let steps = repair(steps);
        let fails = |steps: &[(u64, u32)]| {
            assert_eq!(repair(steps.to_vec()), steps, "only well-formed ones are tried");
            let open = steps.iter().position(|step| step.1 == 0);
            open.is_some_and(|open| steps[open..].contains(&(3, 17)))
        };
        assert!(fails(&steps));
        let reducer = Reducer { group: &|step: &(u64, u32)| step.0, repair: &repair, budget: 1000 };
        let smallest = reducer.reduce(steps, fails);
        assert_eq!(smallest.len(), 3, "{smallest:?}");
    }

    #[test]
    fn the_budget_is_kept() {
        let steps: Vec<(u64, u32)> = (0..200).map(|i| (i, 2)).collect();
        let mut tried = 0;
        let reducer = Reducer { group: &|step: &(u64, u32)| step.0, repair: &|steps| steps, budget: 10 };
        reducer.reduce(steps, |steps| {
            tried += 1;
            steps.len() > 150
        });
        assert_eq!(tried, 10);
    }
}
