//! Who may do what: users, roles, their passwords' verifiers and their privileges.
//!
//! In reading order: [`privilege`] (what can be granted, and on which level), [`name`] (`user@host`
//! and which client it fits), [`account`] (one user or role), [`persist`] (an account as stored
//! bytes), [`store`] (all accounts, shared and changed), [`rights`] (what a session may do: the sum
//! of its account and its roles).
//!
//! Not here: which statement needs which privilege (`session::guard`), the exchange of packets that
//! proves a password (`server::login`), and how a proof is checked (`protocol::auth`).

pub mod account;
pub mod name;
pub mod persist;
pub mod privilege;
pub mod rights;
pub mod store;
#[cfg(test)]
mod tests;

pub use account::{Account, DefaultRoles, Grants, Level, Requirement};
pub use name::AccountName;
pub use privilege::{Privilege, Privileges};
pub use rights::Rights;
pub use store::{Accounts, Directory, Draft};
