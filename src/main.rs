//! The program: reads the options, opens the data, serves until it is told to stop.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use meseta::config::{self, Config, Request};
use meseta::server::{self, Server};
use meseta::session::Shared;
use tracing_subscriber::EnvFilter;

/// Measured against the system's: see docs/decisions.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let ended = match config::load() {
        Ok(Request::Print(text)) => print(&text),
        Ok(Request::Serve(config)) => start(&config),
        Err(line) => Err(line),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            let _ = writeln!(io::stderr(), "meseta: {line}");
            ExitCode::FAILURE
        }
    }
}

fn start(config: &Config) -> Result<(), String> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&config.log))
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
    let runtime = config.runtime();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(serve(config))
}

async fn serve(config: &Config) -> Result<(), String> {
    // The address first: a second server by mistake ends before it touches any data.
    let listener = server::listen(config.listen)?;
    let address = listener.local_addr();
    let address = address.map_err(|error| format!("cannot listen: {error}"))?;
    let shared = Shared::open(config.open_options(address.port())).await?;
    let options = config.server_options();
    server::raise_files_limit(options.connections_max);
    let server = Server::new(listener, options, shared)?;
    let stop = server::stop_signal()?;
    print(&config.welcome(address, server.is_open()))?;
    server.run(async move { stop.notified().await }).await;
    Ok(())
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| format!("cannot write to standard output: {error}"))
}
