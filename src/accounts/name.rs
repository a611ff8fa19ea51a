//! `user@host`: which client it fits, and which of several that fit comes first.
//!
//! Source: MySQL 8.0 Reference Manual, "Specifying Account Names" and "Access Control, Stage 1".

use std::cmp::Reverse;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// The most characters of a user's name, as in MySQL.
pub const USER_CHARS_MAX: usize = 32;

/// The most characters of a host, as in MySQL.
pub const HOST_CHARS_MAX: usize = 255;

/// The host that fits every client.
pub const ANY_HOST: &str = "%";

/// The name of an account: a user at a host, or a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountName {
    /// The user; empty fits every user.
    pub user: String,
    /// A host or a pattern of hosts, lower case.
    pub host: String,
}

/// `'user'@'host'`, as errors show it.
impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host)
    }
}

impl AccountName {
    /// The account of a user at a host.
    pub fn new(user: &str, host: &str) -> AccountName {
        AccountName {
            user: user.to_owned(),
            host: host.to_lowercase(),
        }
    }

    /// `` `user`@`host` ``, as SHOW GRANTS writes it.
    pub fn quoted(&self) -> String {
        format!("{}@{}", quoted(&self.user), quoted(&self.host))
    }

    /// `user@host`, as `CURRENT_USER()` gives it.
    pub fn plain(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// Whether a client at this address is meant.
    pub fn fits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let host = self.host.as_str();
        if host == ANY_HOST || host.is_empty() {
            return true;
        }
        if let Some((network, mask)) = host.split_once('/') {
            return is_in_network(address, network, mask);
        }
        let text = address.to_string();
        is_like(&text, host) || address.is_loopback() && is_like("localhost", host)
    }

    /// What puts the more specific account first: hosts before networks before patterns before `%`,
    /// networks with more bits before others, patterns whose first wildcard stands later before others,
    /// users before the nameless one.
    pub fn specificity(&self) -> impl Ord + use<> {
        let host = self.host.as_str();
        let (class, depth) = match (host.split_once('/'), host.find(['%', '_'])) {
            _ if host == ANY_HOST || host.is_empty() => (3, 0),
            (Some((_, mask)), _) => (1, mask_bits(mask)),
            (None, Some(wildcard_at)) => (2, wildcard_at),
            (None, None) => (0, 0),
        };
        (class, Reverse(depth), self.user.is_empty())
    }
}

/// A name between backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The bits of `255.255.255.0` or `24`; of anything else none.
fn mask_bits(mask: &str) -> usize {
    match mask.parse::<Ipv4Addr>() {
        Ok(mask) => usize::try_from(mask.to_bits().count_ones()).unwrap_or(0),
        Err(_) => mask.parse().unwrap_or(0),
    }
}

/// `192.0.2.0/255.255.255.0` or `192.0.2.0/24`.
fn is_in_network(address: IpAddr, network: &str, mask: &str) -> bool {
    let (Ok(network), IpAddr::V4(address)) = (network.parse::<IpAddr>(), address) else {
        let bits = mask.parse::<u32>().ok().filter(|bits| *bits <= 128);
        return match (network.parse::<IpAddr>(), address, bits) {
            (Ok(IpAddr::V6(network)), IpAddr::V6(address), Some(bits)) => {
                let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                address.to_bits() & mask == network.to_bits() & mask
            }
            _ => false,
        };
    };
    let IpAddr::V4(network) = network else {
        return false;
    };
    let mask = match (mask.parse::<IpAddr>(), mask.parse::<u32>()) {
        (Ok(IpAddr::V4(mask)), _) => mask.to_bits(),
        (_, Ok(bits)) if bits <= 32 => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        _ => return false,
    };
    address.to_bits() & mask == network.to_bits()
}

/// The one name that a pattern means; `None` when there may be others.
pub fn named_by(pattern: &str) -> Option<String> {
    let mut name = String::new();
    let mut chars = pattern.chars();
    while let Some(found) = chars.next() {
        match found {
            '%' | '_' => return None,
            '\\' => name.push(chars.next()?),
            other => name.push(other),
        }
    }
    Some(name)
}

/// Whether a name is like a pattern of `%`, `_` and `\`; upper and lower case of ASCII are one.
pub fn is_like(name: &str, pattern: &str) -> bool {
    let name: Vec<char> = name.chars().map(|c| c.to_ascii_lowercase()).collect();
    let pattern: Vec<char> = pattern.chars().map(|c| c.to_ascii_lowercase()).collect();
    is_like_from(&name, &pattern)
}

/// As [`is_like`], with case: names of databases have one.
pub fn is_like_exactly(name: &str, pattern: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    is_like_from(&name, &pattern)
}

/// Greedy with one place to come back to: linear in the pattern for each character of the name.
fn is_like_from(name: &[char], pattern: &[char]) -> bool {
    let (mut at, mut rule_at) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        let step = match (pattern.get(rule_at), name.get(at)) {
            (Some('%'), _) => {
                back = Some((at, rule_at + 1));
                rule_at += 1;
                continue;
            }
            (None, None) => return true,
            (Some('_'), Some(_)) => Some(1),
            (Some('\\'), Some(found)) if pattern.get(rule_at + 1) == Some(found) => Some(2),
            (Some(wanted), Some(found)) if *wanted != '\\' && wanted == found => Some(1),
            _ => None,
        };
        match (step, back) {
            (Some(width), _) => {
                at += 1;
                rule_at += width;
            }
            (None, Some((start, rule_start))) if start < name.len() => {
                back = Some((start + 1, rule_start));
                (at, rule_at) = (start + 1, rule_start);
            }
            (None, _) => return false,
        }
    }
}
