//! The privileges: one table, from which GRANT, SHOW GRANTS and every check are made.
//!
//! Those that guard nothing here (`TRIGGER`, `EVENT`, …) are kept and shown all the same, so that
//! the GRANT statements of a MySQL server can be run.
//!
//! Source: MySQL 8.0 Reference Manual, "Privileges Provided by MySQL".

use std::fmt;

/// The lowest level a privilege can be granted on; it can be on each level above, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lowest {
    /// `ON d.t`.
    Table,
    /// `ON d.*`.
    Database,
    /// `ON *.*`.
    Global,
    /// `ON *.*`, and shown on a line of its own: MySQL's dynamic privileges.
    Dynamic,
}

/// Declares [`Privilege`] and its table.
macro_rules! privileges {
    ($($name:ident $text:literal $lowest:ident $context:literal $doc:literal;)*) => {
        /// One privilege.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Privilege {
            $(#[doc = $doc] $name,)*
        }

        impl Privilege {
            /// Every privilege, in the order in which SHOW GRANTS names them.
            pub const ALL: &[Privilege] = &[$(Privilege::$name,)*];

            /// Its name in SQL.
            pub fn name(self) -> &'static str {
                match self { $(Privilege::$name => $text,)* }
            }

            /// The lowest level it can be granted on.
            pub fn lowest(self) -> Lowest {
                match self { $(Privilege::$name => Lowest::$lowest,)* }
            }

            /// What SHOW PRIVILEGES tells: where it counts, and what for.
            pub fn about(self) -> (&'static str, &'static str) {
                match self { $(Privilege::$name => ($context, $doc),)* }
            }

            /// Its place in [`Privilege::ALL`], which is its bit.
            fn bit(self) -> u64 {
                let mut place = 0_u32;
                for other in Privilege::ALL {
                    if *other == self {
                        break;
                    }
                    place += 1;
                }
                1 << place
            }
        }
    };
}

privileges! {
    Select "SELECT" Table "Tables" "To retrieve rows from table";
    Insert "INSERT" Table "Tables" "To insert data into tables";
    Update "UPDATE" Table "Tables" "To update existing rows";
    Delete "DELETE" Table "Tables" "To delete existing rows";
    Create "CREATE" Table "Databases,Tables,Indexes" "To create new databases and tables";
    Drop "DROP" Table "Databases,Tables" "To drop databases, tables, and views";
    Reload "RELOAD" Global "Server Admin" "To reload or refresh tables, logs and privileges";
    Shutdown "SHUTDOWN" Global "Server Admin" "To shut down the server";
    Process "PROCESS" Global "Server Admin" "To view the plain text of currently executing queries";
    File "FILE" Global "File access on server" "To read and write files on the server";
    References "REFERENCES" Table "Databases,Tables" "To have references on tables";
    Index "INDEX" Table "Tables" "To create or drop indexes";
    Alter "ALTER" Table "Tables" "To alter the table";
    ShowDatabases "SHOW DATABASES" Global "Server Admin" "To see all databases with SHOW DATABASES";
    Super "SUPER" Global "Server Admin" "To use KILL thread, SET GLOBAL, etc.";
    CreateTemporaryTables "CREATE TEMPORARY TABLES" Database "Databases" "To use CREATE TEMPORARY TABLE";
    LockTables "LOCK TABLES" Database "Databases" "To use LOCK TABLES (together with SELECT privilege)";
    Execute "EXECUTE" Database "Functions,Procedures" "To execute stored routines";
    ReplicationSlave "REPLICATION SLAVE" Global "Server Admin" "To read binary log events from the source";
    ReplicationClient "REPLICATION CLIENT" Global "Server Admin" "To ask where the slave or master servers are";
    CreateView "CREATE VIEW" Table "Tables" "To create new views";
    ShowView "SHOW VIEW" Table "Tables" "To see views with SHOW CREATE VIEW";
    CreateRoutine "CREATE ROUTINE" Database "Databases" "To use CREATE FUNCTION/PROCEDURE";
    AlterRoutine "ALTER ROUTINE" Database "Functions,Procedures" "To alter or drop stored functions/procedures";
    CreateUser "CREATE USER" Global "Server Admin" "To create new users";
    Event "EVENT" Database "Server Admin" "To create, alter, drop and execute events";
    Trigger "TRIGGER" Table "Tables" "To use triggers";
    CreateTablespace "CREATE TABLESPACE" Global "Server Admin" "To create/alter/drop tablespaces";
    CreateRole "CREATE ROLE" Global "Server Admin" "To create new roles";
    DropRole "DROP ROLE" Global "Server Admin" "To drop roles";
    ConnectionAdmin "CONNECTION_ADMIN" Dynamic "Server Admin" "To end connections of others, and to connect when all places are taken";
    RoleAdmin "ROLE_ADMIN" Dynamic "Server Admin" "To grant and revoke every role";
    SystemVariablesAdmin "SYSTEM_VARIABLES_ADMIN" Dynamic "Server Admin" "To set global variables";
    GrantOption "GRANT OPTION" Table "Databases,Tables,Functions,Procedures" "To give to other users those privileges you possess";
}

impl Privilege {
    /// The privilege of that name, upper case, words parted by one space.
    pub fn named(name: &str) -> Option<Privilege> {
        let found = Privilege::ALL.iter().copied();
        found.into_iter().find(|privilege| privilege.name() == name)
    }
}

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Privileges(u64);

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);

    /// Those of a list.
    pub fn of(list: &[Privilege]) -> Privileges {
        Privileges(list.iter().fold(0, |bits, one| bits | one.bit()))
    }

    /// All that `ALL PRIVILEGES` means on a level; `GRANT OPTION` is not among them.
    pub fn all_of(level: Lowest) -> Privileges {
        let all = Privilege::ALL.iter().copied();
        let granted = all.filter(|one| *one != Privilege::GrantOption && one.lowest() <= level);
        Privileges(granted.fold(0, |bits, one| bits | one.bit()))
    }

    /// Both sets.
    #[must_use]
    pub fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// Without those of `other`.
    #[must_use]
    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// Whether all of `other` are in it.
    pub fn has_all(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether one of `other` is in it.
    pub fn has_any(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has this one.
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & privilege.bit() != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        let all = Privilege::ALL.iter().copied();
        all.filter(move |privilege| self.has(*privilege))
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.iter().map(Privilege::name);
        f.debug_list().entries(names).finish()
    }
}
