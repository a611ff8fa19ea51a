//! All accounts: an immutable [`Directory`] that sessions share, and [`Accounts`], which replaces it
//! when a statement on accounts commits.
//!
//! A statement edits a [`Draft`]; the accounts that came, went or changed are written in one batch,
//! then the new directory is published and [`Accounts::version`] goes up. Sessions compare that
//! number before each statement, which is all that an unchanged grant costs.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::account::Account;
use super::name::{ANY_HOST, AccountName};
use super::persist;
use crate::catalog::store::SYSTEM_SPACE;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, KeyRange, Page, Scan, WriteSet};
use crate::protocol::auth::{Crypt, Password};

/// The user that exists from the start and cannot be dropped.
pub const ROOT: &str = "root";

/// Accounts of a server together, roles included. Each is kept in memory.
pub const ACCOUNTS_MAX: usize = 100_000;

type AccountMap = BTreeMap<AccountName, Arc<Account>>;

/// One version of all accounts.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    accounts: AccountMap,
    /// By user, the most specific host first.
    by_user: HashMap<String, Vec<Arc<Account>>>,
}

impl Directory {
    fn new(accounts: AccountMap) -> Directory {
        let mut by_user: HashMap<String, Vec<Arc<Account>>> = HashMap::new();
        for account in accounts.values() {
            let users = by_user.entry(account.name.user.clone()).or_default();
            users.push(Arc::clone(account));
        }
        for users in by_user.values_mut() {
            users.sort_by_key(|account| account.name.specificity());
        }
        Directory { accounts, by_user }
    }

    /// The account of that name.
    pub fn get(&self, name: &AccountName) -> Option<&Arc<Account>> {
        self.accounts.get(name)
    }

    /// All accounts, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.accounts.values()
    }

    /// The account that a client is: of those that fit, the most specific.
    pub fn find(&self, user: &str, address: IpAddr) -> Option<&Arc<Account>> {
        let fitting = |user: &str| {
            let users = self.by_user.get(user)?;
            users.iter().find(|account| account.name.fits(address))
        };
        let (named, nameless) = (fitting(user), fitting(""));
        match (named, nameless) {
            (Some(named), Some(nameless))
                if nameless.name.specificity() < named.name.specificity() =>
            {
                Some(nameless)
            }
            (Some(found), _) | (None, Some(found)) => Some(found),
            (None, None) => None,
        }
    }
}

/// What a statement makes of the accounts.
#[derive(Debug)]
pub struct Draft {
    accounts: AccountMap,
}

impl Draft {
    /// Whether there is an account of that name.
    pub fn has(&self, name: &AccountName) -> bool {
        self.accounts.contains_key(name)
    }

    /// The account of that name, to be read.
    pub fn get(&self, name: &AccountName) -> Option<&Account> {
        self.accounts.get(name).map(Arc::as_ref)
    }

    /// The account of that name, to be changed.
    pub fn edit(&mut self, name: &AccountName) -> Option<&mut Account> {
        self.accounts.get_mut(name).map(Arc::make_mut)
    }

    /// Adds or replaces an account.
    pub fn put(&mut self, account: Account) {
        let name = account.name.clone();
        self.accounts.insert(name, Arc::new(account));
    }

    /// Takes an account away, and takes it from those it was granted to, also where it was to be active from the login on.
    pub fn remove(&mut self, name: &AccountName) -> Option<Account> {
        let removed = self.accounts.remove(name)?;
        for account in self.accounts.values_mut() {
            if account.roles.contains_key(name) {
                Arc::make_mut(account).roles.remove(name);
            }
            if account.default_roles.names(name) {
                Arc::make_mut(account).default_roles.replace(name, None);
            }
        }
        Some(Arc::unwrap_or_clone(removed))
    }

    /// Gives an account another name, for those it was granted to as well.
    pub fn rename(&mut self, from: &AccountName, to: &AccountName) {
        if let Some(account) = self.accounts.remove(from) {
            let mut account = Arc::unwrap_or_clone(account);
            account.name = to.clone();
            self.put(account);
        }
        for account in self.accounts.values_mut() {
            if let Some(admin) = account.roles.get(from).copied() {
                let roles = &mut Arc::make_mut(account).roles;
                roles.remove(from);
                roles.insert(to.clone(), admin);
            }
            if account.default_roles.names(from) {
                Arc::make_mut(account).default_roles.replace(from, Some(to));
            }
        }
    }

    /// The accounts' names.
    pub fn names(&self) -> impl Iterator<Item = &AccountName> {
        self.accounts.keys()
    }
}

/// A password that root has while the server runs.
#[derive(Debug, Clone)]
struct Lent {
    /// It.
    given: Password,
    /// The one that is stored, and stays so until a statement sets another.
    stored: Password,
}

/// The accounts as they are now, and the only way to change them.
pub struct Accounts {
    engine: Arc<dyn Engine>,
    current: RwLock<Arc<Directory>>,
    version: AtomicU64,
    /// What the server was started with, instead of root's own.
    lent: Mutex<Option<Lent>>,
    /// Held by the one statement on accounts that runs.
    changing: tokio::sync::Mutex<()>,
    /// What sha2's fast path compares with, of accounts of which only the slow form is stored; with
    /// the form it was found for.
    fast: Mutex<HashMap<AccountName, (Crypt, [u8; 32])>>,
}

impl Accounts {
    /// Reads the accounts of an engine whose system space exists. Root is there, if need be without
    /// password.
    ///
    /// # Errors
    /// Those of the engine; 1712 for an account that cannot be read.
    pub async fn open(engine: Arc<dyn Engine>) -> Result<Accounts> {
        let mut accounts = read_all(engine.as_ref()).await?;
        let root = AccountName::new(ROOT, ANY_HOST);
        accounts
            .entry(root.clone())
            .or_insert_with(|| Arc::new(Account::omnipotent(root, Password::Empty)));
        Ok(Accounts {
            engine,
            current: RwLock::new(Arc::new(Directory::new(accounts))),
            version: AtomicU64::new(1),
            lent: Mutex::default(),
            changing: tokio::sync::Mutex::new(()),
            fast: Mutex::default(),
        })
    }

    /// The accounts of now.
    pub fn current(&self) -> Arc<Directory> {
        Arc::clone(&self.current.read())
    }

    /// Goes up with every change. Read it before [`Accounts::current`]: while it stays as it is, what
    /// was found then is true.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Gives root the password that the server was started with. It is not stored, whatever of root is,
    /// and holds until a statement sets another.
    pub fn set_root_password(&self, password: Password) {
        let mut current = self.current.write();
        let mut accounts = current.accounts.clone();
        if let Some(root) = accounts.get_mut(&root_name()) {
            let root = Arc::make_mut(root);
            let stored = std::mem::replace(&mut root.password, password.clone());
            let given = password;
            *self.lent.lock() = Some(Lent { given, stored });
        }
        *current = Arc::new(Directory::new(accounts));
        drop(current);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether root has no password: the server may then be reached from this machine only.
    pub fn is_open(&self) -> bool {
        let current = self.current();
        let root = current.get(&root_name());
        root.is_none_or(|root| root.password.is_empty() && !root.locked)
    }

    /// Changes accounts: all that `edit` does, or nothing.
    ///
    /// # Errors
    /// What `edit` gives; 1041 when there would be more than [`ACCOUNTS_MAX`]; those of the engine.
    pub async fn change<T>(&self, edit: impl FnOnce(&mut Draft) -> Result<T>) -> Result<T> {
        let _one_at_a_time = self.changing.lock().await;
        let before = self.current();
        let mut draft = Draft {
            accounts: before.accounts.clone(),
        };
        let edited = edit(&mut draft)?;
        if ACCOUNTS_MAX < draft.accounts.len() {
            let text = format!("there would be more than {ACCOUNTS_MAX} accounts");
            return Err(Error::new(Code::OutOfResources, text));
        }
        let lent = self.lent_in(&draft);
        let stored = lent.as_ref().map(|lent| &lent.stored);
        let writes = difference((&before.accounts, &draft.accounts), stored);
        if writes.is_empty() {
            return Ok(edited);
        }
        self.engine.commit(writes).await?;
        *self.lent.lock() = lent;
        *self.current.write() = Arc::new(Directory::new(draft.accounts));
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(edited)
    }

    /// The password that root was lent, if that is what it has still.
    fn lent_in(&self, draft: &Draft) -> Option<Lent> {
        let lent = self.lent.lock().clone()?;
        let root = draft.get(&root_name())?;
        (root.password == lent.given).then_some(lent)
    }

    /// What sha2's fast path compares with, when somebody has logged in the slow way since the
    /// password was set.
    pub fn fast_digest(&self, name: &AccountName, crypt: &Crypt) -> Option<[u8; 32]> {
        let fast = self.fast.lock();
        let (of, digest) = fast.get(name)?;
        (of == crypt).then_some(*digest)
    }

    /// Somebody has logged in the slow way.
    pub fn remember_fast(&self, name: &AccountName, crypt: &Crypt, digest: [u8; 32]) {
        let mut fast = self.fast.lock();
        if fast.len() < ACCOUNTS_MAX {
            fast.insert(name.clone(), (crypt.clone(), digest));
        }
    }

    /// Forgets all that [`Accounts::remember_fast`] was told: FLUSH PRIVILEGES.
    pub fn forget_fast(&self) {
        self.fast.lock().clear();
    }
}

fn root_name() -> AccountName {
    AccountName::new(ROOT, ANY_HOST)
}

/// What must be written so that the stored accounts are `after`; root with this password, if there is one.
fn difference((before, after): (&AccountMap, &AccountMap), of_root: Option<&Password>) -> WriteSet {
    let root = root_name();
    let mut writes = WriteSet::blind();
    for (name, account) in after {
        let is_same = before
            .get(name)
            .is_some_and(|old| Arc::ptr_eq(old, account));
        if !is_same {
            let stored = match of_root {
                Some(password) if *name == root => persist::encode(&Account {
                    password: password.clone(),
                    ..Account::clone(account)
                }),
                Some(_) | None => persist::encode(account),
            };
            writes.put(SYSTEM_SPACE, key(name), stored);
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        writes.delete(SYSTEM_SPACE, key(name));
    }
    writes
}

fn key(name: &AccountName) -> Vec<u8> {
    SystemKey::Account(name.user.clone(), name.host.clone()).encode()
}

async fn read_all(engine: &dyn Engine) -> Result<AccountMap> {
    let snapshot = engine.snapshot();
    let mut scan = Scan::new(SYSTEM_SPACE, KeyRange::all());
    let mut page = Page::default();
    let mut accounts = BTreeMap::new();
    loop {
        snapshot.scan(&scan, &mut page).await?;
        for (key, value) in page.iter() {
            if let SystemKey::Account(user, host) = SystemKey::decode(key)? {
                let name = AccountName { user, host };
                let account = persist::decode(name.clone(), value).map_err(|what| {
                    let text = format!("account {name} is damaged: {what}");
                    Error::new(Code::StorageCorrupt, text)
                })?;
                accounts.insert(name, Arc::new(account));
            }
        }
        if !scan.advance(&mut page) {
            return Ok(accounts);
        }
    }
}
