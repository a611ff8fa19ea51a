//! Hosts, privileges, stored accounts, and what a change leaves behind.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::privilege::Lowest;
use super::*;
use crate::accounts::name::{is_like, is_like_exactly};
use crate::catalog::Catalog;
use crate::error::{Code, Error};
use crate::kv::Engine;
use crate::kv::memory::Memory;
use crate::protocol::auth::{Password, Plugin};

fn name(user: &str, host: &str) -> AccountName {
    AccountName::new(user, host)
}

async fn engine() -> Arc<dyn Engine> {
    let engine: Arc<dyn Engine> = Arc::new(Memory::default());
    Catalog::open(Arc::clone(&engine)).await.unwrap();
    engine
}

#[test]
fn hosts_fit_clients() {
    let cases = [
        ("%", "10.1.2.3", true),
        ("", "10.1.2.3", true),
        ("localhost", "127.0.0.1", true),
        ("LOCALHOST", "::1", true),
        ("localhost", "10.1.2.3", false),
        ("127.0.0.1", "127.0.0.1", true),
        ("10.1.%", "10.1.2.3", true),
        ("10.1.%", "10.2.2.3", false),
        ("10.1.2._", "10.1.2.3", true),
        ("10.1.2._", "10.1.2.33", false),
        ("10.1.0.0/255.255.0.0", "10.1.2.3", true),
        ("10.1.0.0/16", "10.1.2.3", true),
        ("10.1.0.0/16", "10.2.2.3", false),
        ("10.1.0.0/33", "10.1.0.0", false),
        ("0.0.0.0/0", "10.1.2.3", true),
        ("2001:db8::/32", "2001:db8::7", true),
        ("2001:db8::/32", "2001:db9::7", false),
        ("10.1.2.3", "::ffff:10.1.2.3", true),
        ("l%", "127.0.0.1", true),
    ];
    for (host, address, fits) in cases {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(name("u", host).fits(address), fits, "{host} {address}");
    }
}

#[test]
fn patterns_are_likes() {
    assert!(is_like("", "") && is_like("", "%%") && !is_like("", "_"));
    assert!(is_like("Abc", "a%C") && !is_like_exactly("Abc", "a%"));
    assert!(is_like_exactly("a_b", "a\\_b") && !is_like_exactly("axb", "a\\_b"));
    assert!(is_like("aXbXc", "%x%c") && !is_like("aXbX", "%x%c"));
    assert!(!is_like("a", "\\"));
    let long = "a".repeat(10_000);
    assert!(!is_like(&long, &format!("{}b", "%a".repeat(50))));
}

#[tokio::test]
async fn the_most_specific_account_is_meant() {
    let accounts = Accounts::open(engine().await).await.unwrap();
    let hosts = [
        "%",
        "10.%",
        "10.1.%",
        "10.1.0.0/16",
        "10.1.3.0/255.255.255.0",
        "10.0.0.0/255.0.0.0",
        "10.1.2.3",
        "localhost",
    ];
    let put = |draft: &mut Draft| {
        for host in hosts {
            draft.put(Account::new(name("u", host)));
        }
        draft.put(Account::new(name("", "localhost")));
        draft.put(Account::new(name("x", "127.0.0.1")));
        draft.put(Account::new(name("v", "%")));
        Ok::<_, Error>(())
    };
    accounts.change(put).await.unwrap();
    let directory = accounts.current();
    let find = |user: &str, address: &str| {
        let found = directory.find(user, address.parse().unwrap());
        found.map(|account| account.name.to_string())
    };
    assert_eq!(find("u", "10.1.2.3").unwrap(), "'u'@'10.1.2.3'");
    assert_eq!(find("u", "10.1.2.4").unwrap(), "'u'@'10.1.0.0/16'");
    // By bits, however the mask is written.
    assert_eq!(
        find("u", "10.1.3.4").unwrap(),
        "'u'@'10.1.3.0/255.255.255.0'"
    );
    assert_eq!(find("u", "10.2.2.4").unwrap(), "'u'@'10.0.0.0/255.0.0.0'");
    // One host is as good as another, however long its name.
    assert_eq!(find("x", "127.0.0.1").unwrap(), "'x'@'127.0.0.1'");
    assert_eq!(find("u", "11.2.2.4").unwrap(), "'u'@'%'");
    assert_eq!(find("u", "127.0.0.1").unwrap(), "'u'@'localhost'");
    // MySQL's old trap: the nameless account of this machine comes before `v` of anywhere.
    assert_eq!(find("v", "127.0.0.1").unwrap(), "''@'localhost'");
    assert_eq!(find("v", "10.1.2.3").unwrap(), "'v'@'%'");
    assert_eq!(find("w", "10.1.2.3"), None);
}

fn full_account() -> Account {
    let select = Privileges::of(&[Privilege::Select, Privilege::GrantOption]);
    let mut account = Account::new(name("ü'`\"", "10.%"));
    account.password = Password::of("secret");
    account.expired = true;
    account.locked = true;
    account.requirement = Requirement::Ssl;
    account.connections_max = 7;
    account
        .grants
        .set(&Level::Global, Privileges::all_of(Lowest::Dynamic));
    account
        .grants
        .set(&Level::Database("a%".to_owned()), select);
    account
        .grants
        .set(&Level::Table("a".to_owned(), "t".to_owned()), select);
    account.roles = BTreeMap::from([(name("r", "%"), true), (name("s", "%"), false)]);
    account.default_roles = DefaultRoles::These(BTreeSet::from([name("r", "%")]));
    account
}

#[test]
fn accounts_come_back_from_their_bytes() {
    let full = full_account();
    let plain = Account {
        plugin: Plugin::Native,
        default_roles: DefaultRoles::All,
        ..Account::new(name("", "%"))
    };
    let role = Account::role(name("r", "%"));
    let one_way = Account {
        password: Password::only(Plugin::CachingSha2, "x"),
        ..Account::new(name("x", "%"))
    };
    for account in [full, plain, role, one_way] {
        let bytes = persist::encode(&account);
        let decoded = persist::decode(account.name.clone(), &bytes).unwrap();
        assert_eq!(decoded, account);
        for end in 0..bytes.len() {
            assert!(persist::decode(account.name.clone(), &bytes[..end]).is_err());
        }
    }
    let text = String::from_utf8(persist::encode(&full_account())[1..].to_vec()).unwrap();
    for (from, to) in [
        ("\"SELECT\"", "\"FLY\""),
        ("\"expired\"", "\"tired\""),
        ("\"SSL\"", "\"TSL\""),
        ("{", "{\"more\":1,"),
    ] {
        let damaged = format!("\u{1}{}", text.replacen(from, to, 1));
        assert!(
            persist::decode(name("u", "%"), damaged.as_bytes()).is_err(),
            "{to}"
        );
    }
}

#[tokio::test]
async fn changes_are_whole_and_last() {
    let engine = engine().await;
    let accounts = Accounts::open(Arc::clone(&engine)).await.unwrap();
    let version = accounts.version();
    let failed = accounts.change(|draft| {
        draft.put(Account::new(name("a", "%")));
        Err::<(), _>(Error::new(Code::AccountFailed, "no"))
    });
    assert!(failed.await.is_err());
    assert_eq!(accounts.version(), version);
    assert!(accounts.current().get(&name("a", "%")).is_none());
    let full = full_account();
    let made = accounts.change(|draft| {
        draft.put(full.clone());
        draft.put(Account::role(name("r", "%")));
        Ok(())
    });
    made.await.unwrap();
    assert!(version < accounts.version());
    let again = Accounts::open(Arc::clone(&engine)).await.unwrap();
    assert_eq!(
        again
            .current()
            .get(&full.name)
            .map(|kept| Account::clone(kept)),
        Some(full.clone())
    );
    let renamed = again.change(|draft| {
        draft.rename(&name("r", "%"), &name("q", "%"));
        draft.remove(&name("s", "%"));
        Ok(())
    });
    renamed.await.unwrap();
    let kept = Accounts::open(engine).await.unwrap();
    let kept = kept.current();
    assert!(kept.get(&name("r", "%")).is_none());
    let account = kept.get(&full.name).unwrap();
    assert_eq!(account.roles.get(&name("q", "%")), Some(&true));
    assert!(kept.get(&name("root", "%")).is_some());
}

/// Statements on root write the whole account: the password of the command line is not to be in it.
#[tokio::test]
async fn what_root_is_lent_is_not_stored() {
    let engine = engine().await;
    let root = name("root", "%");
    let password = |accounts: &Accounts| accounts.current().get(&root).unwrap().password.clone();
    let accounts = Accounts::open(Arc::clone(&engine)).await.unwrap();
    let lent = Password::fast("temp");
    accounts.set_root_password(lent.clone());
    let grant = |draft: &mut Draft| {
        draft.put(Account::role(name("r", "%")));
        let account = draft.edit(&root).unwrap();
        account.roles.insert(name("r", "%"), false);
        Ok::<_, Error>(())
    };
    accounts.change(grant).await.unwrap();
    assert_eq!(password(&accounts), lent);
    let again = Accounts::open(Arc::clone(&engine)).await.unwrap();
    assert_eq!(password(&again), Password::Empty);
    assert_eq!(again.current().get(&root).unwrap().roles.len(), 1);

    // One that a statement sets is, and holds at once; what comes later leaves it.
    let own = Password::of("own");
    let set = |draft: &mut Draft| {
        draft.edit(&root).unwrap().password = own.clone();
        Ok::<_, Error>(())
    };
    accounts.change(set).await.unwrap();
    let lock = |draft: &mut Draft| {
        draft.edit(&root).unwrap().connections_max = 3;
        Ok::<_, Error>(())
    };
    accounts.change(lock).await.unwrap();
    assert_eq!(password(&accounts), own);
    let again = Accounts::open(engine).await.unwrap();
    assert_eq!(password(&again), own);
}

#[tokio::test]
async fn rights_are_the_most_specific_grant_and_the_sum_of_roles() {
    let accounts = Accounts::open(engine().await).await.unwrap();
    let privileges = Privileges::of;
    let (select, insert, drop) = (
        privileges(&[Privilege::Select]),
        privileges(&[Privilege::Insert]),
        privileges(&[Privilege::Drop]),
    );
    let put = |draft: &mut Draft| {
        let mut user = Account::new(name("u", "%"));
        user.grants.set(&Level::Database("d%".to_owned()), select);
        user.grants
            .set(&Level::Database("d\\_1".to_owned()), insert);
        user.grants
            .set(&Level::Table("x".to_owned(), "t".to_owned()), select);
        user.roles.insert(name("r", "%"), false);
        draft.put(user);
        let mut role = Account::role(name("r", "%"));
        role.grants.set(&Level::Database("d%".to_owned()), drop);
        role.roles.insert(name("deep", "%"), false);
        draft.put(role);
        let mut deep = Account::role(name("deep", "%"));
        deep.grants.set(&Level::Global, insert);
        deep.roles.insert(name("r", "%"), false);
        draft.put(deep);
        Ok::<_, Error>(())
    };
    accounts.change(put).await.unwrap();
    let directory = accounts.current();
    let alone = Rights::of(&directory, &name("u", "%"), &BTreeSet::new());
    assert_eq!(alone.on_database("d2"), select);
    assert_eq!(alone.on_database("d_1"), insert);
    assert_eq!(alone.on_database("e"), Privileges::NONE);
    assert_eq!(alone.on_table("x", "t"), select);
    // Whoever holds a pattern may not pass on a wider one that looks like it.
    assert_eq!(alone.on_pattern("d%"), select);
    assert_eq!(alone.on_pattern("d_%"), Privileges::NONE);
    assert_eq!(alone.on_pattern("d\\_1"), insert);
    assert_eq!(alone.on_pattern("d_1"), Privileges::NONE);
    assert_eq!(alone.on_pattern("d2"), select);
    assert!(alone.sees_database("x") && alone.sees_table("x", "t") && !alone.sees_table("x", "u"));
    assert!(!alone.sees_database("y") && alone.sees_database("information_schema"));
    let with_role = Rights::of(
        &directory,
        &name("u", "%"),
        &BTreeSet::from([name("r", "%")]),
    );
    assert_eq!(with_role.on_database("d2"), select.with(drop).with(insert));
    assert_eq!(with_role.roles().len(), 2);
    // A role that is not granted is not active.
    let stranger = Rights::of(
        &directory,
        &name("root", "%"),
        &BTreeSet::from([name("r", "%")]),
    );
    assert!(stranger.roles().is_empty());
    let gone = Rights::of(&directory, &name("nobody", "%"), &BTreeSet::new());
    assert!(gone.global().is_empty());
}

#[test]
fn privileges_have_names_and_bits_of_their_own() {
    let mut sum = Privileges::NONE;
    for privilege in Privilege::ALL {
        let one = Privileges::of(&[*privilege]);
        assert!(!sum.has_any(one), "{}", privilege.name());
        sum = sum.with(one);
        assert_eq!(Privilege::named(privilege.name()), Some(*privilege));
    }
    assert_eq!(sum.iter().count(), Privilege::ALL.len());
}

#[tokio::test]
async fn what_is_active_from_the_login_on_follows_its_role() {
    let accounts = Accounts::open(engine().await).await.unwrap();
    let (role, other, user) = (name("r", "%"), name("r2", "%"), name("p", "%"));
    let change = |draft: &mut Draft| {
        draft.put(Account::role(role.clone()));
        let mut account = Account::new(user.clone());
        account.roles.insert(role.clone(), false);
        account.default_roles = DefaultRoles::These(BTreeSet::from([role.clone()]));
        draft.put(account);
        draft.rename(&role, &other);
        Ok::<(), Error>(())
    };
    accounts.change(change).await.unwrap();
    let initial = |accounts: &Accounts| accounts.current().get(&user).unwrap().initial_roles();
    assert_eq!(initial(&accounts), BTreeSet::from([other.clone()]));
    let change = |draft: &mut Draft| {
        draft.remove(&other);
        // Of the same name, and another one.
        draft.put(Account::role(other.clone()));
        let account = draft.edit(&user).unwrap();
        account.roles.insert(other.clone(), false);
        Ok::<(), Error>(())
    };
    accounts.change(change).await.unwrap();
    assert!(initial(&accounts).is_empty());
}
