//! The registry of functions.

/// One function of the registry.
#[derive(Debug)]
pub struct Function {
    /// The name, upper case.
    pub name: &'static str,
}
