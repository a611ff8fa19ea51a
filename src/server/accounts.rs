//! Who may log in. There is one user so far: `root`.

use std::net::IpAddr;

use crate::protocol::Password;

/// The only user.
pub const ROOT: &str = "root";

/// The users and what proves them.
#[derive(Debug, Clone)]
pub struct Accounts {
    root: Password,
    nobody: Password,
}

impl Accounts {
    /// With root's password.
    pub fn new(root: Password) -> Accounts {
        Accounts {
            root,
            nobody: Password::unknowable(),
        }
    }

    /// Whether root has no password: the server may then be reached from this machine only.
    pub fn is_open(&self) -> bool {
        self.root.is_empty()
    }

    /// What a user must prove to log in from `address`; for nobody, what nobody can prove.
    pub(super) fn password(&self, user: &str, address: IpAddr) -> &Password {
        if user == ROOT && (address.to_canonical().is_loopback() || !self.root.is_empty()) {
            &self.root
        } else {
            &self.nobody
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Plugin, Salt};

    #[test]
    fn root_without_password_logs_in_from_this_machine_only() {
        let (here, there) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 1]));
        let open = Accounts::new(Password::Empty);
        let enters = |accounts: &Accounts, user: &str, address| {
            let password = accounts.password(user, address);
            password.is_proven(Plugin::Native, &Salt::fixed([1; 20]), b"")
        };
        assert!(open.is_open());
        assert!(enters(&open, "root", here));
        assert!(!enters(&open, "root", there));
        assert!(!enters(&open, "other", here));
        assert!(!enters(&Accounts::new(Password::of("x")), "root", here));
    }
}
