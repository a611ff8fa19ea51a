//! What the server says over HTTP: its metrics, and whether it is well.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::time::Duration;

use rand::Rng as _;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Below the ports that the system gives to clients: one of those is taken by another test's before the server has it.
const PORTS: Range<u16> = 20_000..30_000;
/// Ports that are tried.
const TRIES: usize = 100;

/// Where a server answers.
pub(crate) struct Door {
    address: SocketAddr,
}

impl Door {
    /// An address that nobody has now.
    pub(crate) fn new() -> Result<Door, String> {
        let mut random = rand::rng();
        let ports = (0..TRIES).map(|_| random.random_range(PORTS));
        let mut addresses = ports.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let is_free = |address: &SocketAddr| TcpListener::bind(address).is_ok();
        let address = addresses.find(is_free).ok_or("there is no free port")?;
        Ok(Door { address })
    }

    /// What a server must find in its environment to answer there.
    pub(crate) fn environment(&self) -> (String, String) {
        ("MESETA_HTTP_LISTEN".to_owned(), self.address.to_string())
    }

    /// The status and the text that are answered.
    pub(crate) fn get(&self, path: &str) -> Result<(u16, String), String> {
        let answer = self.ask(path);
        let answer = answer.map_err(|error| format!("GET {path}: {error}"))?;
        let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| format!("GET {path}: {answer:?}"))?;
        Ok((status, text.to_owned()))
    }

    fn ask(&self, path: &str) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(self.address)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// A metric, the sum of it over its labels.
    pub(crate) fn metric(&self, name: &str) -> Result<f64, String> {
        let (status, page) = self.get("/metrics")?;
        let of_name = |line: &&str| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
        };
        let values: Vec<f64> = page
            .lines()
            .filter(of_name)
            .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
            .collect();
        if values.is_empty() {
            return Err(format!("/metrics ({status}) has no {name}"));
        }
        Ok(values.iter().sum())
    }
}
