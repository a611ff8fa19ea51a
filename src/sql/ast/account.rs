//! The statements on users, roles and privileges.

use std::fmt;

use crate::accounts::{AccountName, Level, Privileges, Requirement};
use crate::protocol::Plugin;

/// A statement on accounts.
#[derive(Debug, Clone, PartialEq)]
pub enum AccountStatement {
    /// `CREATE USER`.
    CreateUser {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The users.
        users: Vec<UserSpec>,
        /// `DEFAULT ROLE`.
        default_roles: Vec<AccountName>,
        /// What holds for all of them.
        options: AccountOptions,
    },
    /// `ALTER USER`.
    AlterUser {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The users.
        users: Vec<UserSpec>,
        /// What holds for all of them.
        options: AccountOptions,
    },
    /// `DROP USER`, `DROP ROLE`.
    Drop {
        /// Which.
        kind: AccountKind,
        /// `IF EXISTS`.
        if_exists: bool,
        /// The accounts.
        names: Vec<UserName>,
    },
    /// `RENAME USER a TO b, …`.
    Rename(Vec<(UserName, UserName)>),
    /// `SET PASSWORD [FOR user] = …`.
    SetPassword {
        /// Whose.
        user: UserName,
        /// The password.
        password: Clear,
    },
    /// `CREATE ROLE`.
    CreateRole {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The roles.
        names: Vec<AccountName>,
    },
    /// `GRANT … ON … TO …`.
    Grant {
        /// What.
        privileges: PrivilegeList,
        /// On what.
        object: GrantObject,
        /// To whom.
        users: Vec<UserName>,
    },
    /// `REVOKE … ON … FROM …`.
    Revoke {
        /// What.
        privileges: PrivilegeList,
        /// On what.
        object: GrantObject,
        /// From whom.
        users: Vec<UserName>,
    },
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`.
    RevokeAll(Vec<UserName>),
    /// `GRANT role TO user`.
    GrantRoles {
        /// The roles.
        roles: Vec<AccountName>,
        /// To whom.
        users: Vec<UserName>,
        /// `WITH ADMIN OPTION`.
        with_admin: bool,
    },
    /// `REVOKE role FROM user`.
    RevokeRoles {
        /// The roles.
        roles: Vec<AccountName>,
        /// From whom.
        users: Vec<UserName>,
    },
    /// `SET ROLE`.
    SetRole(RoleChoice),
    /// `SET DEFAULT ROLE … TO …`, `ALTER USER … DEFAULT ROLE …`.
    SetDefaultRole {
        /// Which.
        choice: RoleChoice,
        /// Whose.
        users: Vec<UserName>,
    },
}

/// Whether an account is meant as a user or as a role: errors name the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the SQL word of the same name")]
pub enum AccountKind {
    User,
    Role,
}

/// An account as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserName {
    /// `CURRENT_USER`, `USER()`: who runs the statement.
    Current,
    /// `user@host`.
    Named(AccountName),
}

/// A user with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    /// Who.
    pub name: UserName,
    /// `IDENTIFIED …`.
    pub identified: Option<Identified>,
}

/// `IDENTIFIED …`.
#[derive(Debug, Clone, PartialEq)]
pub enum Identified {
    /// `BY 'password'`.
    By(Clear),
    /// `WITH plugin`.
    With(Plugin),
    /// `WITH plugin BY 'password'`.
    WithBy(Plugin, Clear),
    /// `WITH plugin AS 'hash'`.
    WithAs(Plugin, Vec<u8>),
}

/// A password in clear; not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Clear(pub String);

impl fmt::Debug for Clear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clear")
    }
}

/// What holds for all users of a statement; `None` where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// `REQUIRE`.
    pub requirement: Option<Requirement>,
    /// `MAX_USER_CONNECTIONS`.
    pub connections_max: Option<u32>,
    /// `PASSWORD EXPIRE`; `false` for `NEVER` and `DEFAULT`.
    pub expired: Option<bool>,
    /// `ACCOUNT LOCK`, `ACCOUNT UNLOCK`.
    pub locked: Option<bool>,
}

/// What is granted or revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeList {
    /// `ALL [PRIVILEGES]`, and whether `WITH GRANT OPTION`.
    All(bool),
    /// These; `WITH GRANT OPTION` is one of them.
    These(Privileges),
}

/// What something is granted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantObject {
    /// `*.*`, `d.*`, `d.t`.
    Level(Level),
    /// `*`: the current database.
    CurrentDatabase,
    /// `t`: a table of the current database.
    CurrentTable(String),
}

/// Which roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChoice {
    /// `DEFAULT`.
    Default,
    /// `NONE`.
    None,
    /// `ALL`, `ALL EXCEPT …`.
    AllExcept(Vec<AccountName>),
    /// These.
    These(Vec<AccountName>),
}
