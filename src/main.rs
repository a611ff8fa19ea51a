//! The program: reads the options, opens the data and serves until it is told to stop, or does some upkeep.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use meseta::config::{self, Config, Request};
use meseta::server::again::{self, End};
use meseta::server::{self, Http, Server};
use meseta::session::Shared;
use meseta::upkeep;

/// Measured against the system's: see docs/decisions.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    meseta::ceiling::settle_allocator();
    config::keep_files_private();
    let (ended, code) = match config::load() {
        Ok(Request::Print(text)) => (print(&text), ExitCode::FAILURE),
        Ok(Request::Upkeep(task)) => return upkeep::run(&task),
        Ok(Request::Serve(config)) => (start(&config), ExitCode::FAILURE),
        // Who calls `meseta check` takes 1 for damage.
        Err(line) => (Err(line), ExitCode::from(2)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            let _ = writeln!(io::stderr(), "meseta: {line}");
            code
        }
    }
}

fn start(config: &Config) -> Result<(), String> {
    config.start_log();
    let runtime = config.runtime();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    match runtime.block_on(serve(config))? {
        End::Stopped => Ok(()),
        End::Again => again::begin(),
    }
}

async fn serve(config: &Config) -> Result<End, String> {
    let signals = server::Signals::watch()?;
    // The address first: a second server by mistake ends before it touches any data.
    let listener = server::listen(config.listen)?;
    let address = listener.local_addr();
    let address = address.map_err(|error| format!("cannot listen: {error}"))?;
    let http = config.http_listen.map(Http::open).transpose()?;
    let options = config.server_options();
    server::raise_files_limit(options.connections_max)?;
    let shared = Shared::open(config.open_options(address.port())).await?;
    let server = Server::new(listener, options, Arc::clone(&shared))?;
    let stop = signals.heed(&shared);
    let addresses = (address, http.as_ref().map(Http::address));
    print(&config.welcome(addresses, server.stored()))?;
    config.log_unsafe(server.stored());
    if let Some(http) = &http {
        http.started(&shared);
    }
    let shared = Arc::downgrade(&shared);
    let mut end = End::Stopped;
    let stopped = async {
        end = again::end(&stop, shared).await;
        if let Some(http) = http {
            http.stopping();
        }
    };
    server.run(stopped).await;
    Ok(again::after(end, &stop).await)
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("cannot write to standard output: {error}"))
}
