//! Variables of the environment that look like options of the server and are none: misspelt ones, most often.

use super::options::ALL;

/// What all of them begin with.
const PREFIX: &str = "MESETA_";

/// How those of the tests go on, which have them in the environment of the servers that they start.
const OF_TESTS: [&str; 10] = [
    "TEST_",
    "CRASH_",
    "SLT_",
    "FUZZ_",
    "BENCH_",
    "DIFF_",
    "CONFORMANCE_",
    "FAULTS",
    "BACKUP_ROUNDS",
    "BACKUP_SEED",
];

/// Logs each of this process.
pub(super) fn warn() {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    for variable in among(names) {
        tracing::warn!(%variable, "a variable that is no option is passed over; see --help");
    }
}

/// Those among the names of variables, in their order.
fn among(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_stranger = |name: &String| {
        let Some(rest) = name.strip_prefix(PREFIX) else {
            return false;
        };
        let is_option = ALL.iter().any(|spec| spec.variable() == *name);
        !is_option && !OF_TESTS.iter().any(|known| rest.starts_with(known))
    };
    let mut strangers: Vec<String> = names.filter(is_stranger).collect();
    strangers.sort();
    strangers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_variables_are_told() {
        let options = ALL.iter().map(super::super::Spec::variable);
        let others = [
            "MESETA_DATADIR",
            "HOME",
            "MESETA_TEST_MEMTABLE_BYTES",
            "MESETA_CACHE",
            "MESETA_SLT_FULL",
        ];
        let names = options.chain(others.map(str::to_owned));
        assert_eq!(among(names), ["MESETA_CACHE", "MESETA_DATADIR"]);
    }
}
