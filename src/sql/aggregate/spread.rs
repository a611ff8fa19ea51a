//! Variance and standard deviation, in one pass and without loss of digits (Welford's method, as in
//! MySQL).

/// What is known of the numbers met.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    count: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Whether the numbers are a sample of all there is.
    pub(super) sample: bool,
    /// Whether the square root is taken.
    pub(super) root: bool,
}

impl Wanted {
    /// The name in a message.
    pub(super) fn name(self) -> &'static str {
        match (self.root, self.sample) {
            (true, true) => "stddev_samp",
            (true, false) => "std",
            (false, true) => "var_samp",
            (false, false) => "variance",
        }
    }
}

impl Spread {
    pub(super) fn add(&mut self, number: f64) {
        self.count += 1.0;
        let before = number - self.mean;
        self.mean += before / self.count;
        self.squares += before * (number - self.mean);
    }

    /// `None` without numbers, of a sample also with one.
    pub(super) fn finish(self, wanted: Wanted) -> Option<f64> {
        let freedom = self.count - f64::from(u8::from(wanted.sample));
        if freedom <= 0.0 {
            return None;
        }
        let variance = self.squares / freedom;
        Some(if wanted.root {
            variance.sqrt()
        } else {
            variance
        })
    }
}
