//! Outside the box: reads where a connection shall lead, and leads it there if that was granted.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use looop_core::egress::{Destinations, Refused, authority};
use serde::Serialize;

use super::tunnel::{received, tunnel};
use crate::threads;

/// Longest head of a request.
const HEAD: usize = 16 * 1024;
/// Most header lines of a request.
const HEADERS: usize = 100;
/// How long a request may take to arrive, and a server to take a connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most connections at a time.
const MOST: usize = 256;

/// What became of one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Connection {
    pub(super) host: String,
    pub(super) port: u16,
    #[serde(flatten)]
    pub(super) verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub(super) enum Verdict {
    /// It was made, and so many bytes went through it.
    Passed { sent: u64, received: u64 },
    /// It was not granted.
    Refused { reason: String },
    /// It was granted and could not be made.
    Failed { reason: String },
}

/// Where a request wants to go, and what is sent there first.
struct Wanted {
    host: String,
    port: u16,
    /// Nothing for `CONNECT`; else the request as the server shall read it.
    first: Option<Vec<u8>>,
    /// What came after the head.
    rest: Vec<u8>,
}

/// Serves a box until nothing in it can ask any more. `record` is told of each connection when it has ended.
pub(super) fn serve(
    control: &OwnedFd,
    destinations: &Arc<Destinations>,
    record: &Arc<dyn Fn(&Connection) + Send + Sync>,
) -> io::Result<()> {
    let open = Arc::new(AtomicUsize::new(0));
    while let Some(mut client) = received(control)? {
        if open.fetch_add(1, Ordering::Relaxed) >= MOST {
            open.fetch_sub(1, Ordering::Relaxed);
            refuse(&mut client, "503 Service Unavailable", "too many connections at a time");
            continue;
        }
        let (destinations, record, open) = (Arc::clone(destinations), Arc::clone(record), Arc::clone(&open));
        let (ours, counted) = (client.try_clone()?, Arc::clone(&open));
        let started = threads::start("egress", move || {
            if let Some(connection) = connect(ours, &destinations) {
                record(&connection);
            }
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
            refuse(&mut client, "503 Service Unavailable", "no thread could be started for it");
        }
    }
    Ok(())
}

/// One connection from its first byte to its last; nothing if it asked for nothing.
fn connect(mut client: UnixStream, destinations: &Destinations) -> Option<Connection> {
    let wanted = match client
        .set_read_timeout(Some(PATIENCE))
        .map_err(|error| error.to_string())
        .and_then(|()| wanted(&mut client))
    {
        Ok(wanted) => wanted?,
        Err(reason) => {
            refuse(&mut client, "400 Bad Request", &reason);
            return None;
        }
    };
    let verdict = match reached(&wanted, destinations) {
        Ok(server) => passed(client, server, &wanted),
        Err(Unreached::Refused(refused)) => {
            let reason = refused.to_string();
            refuse(&mut client, "403 Forbidden", &reason);
            Verdict::Refused { reason }
        }
        Err(Unreached::Failed(reason)) => {
            refuse(&mut client, "502 Bad Gateway", &reason);
            Verdict::Failed { reason }
        }
    };
    Some(Connection { host: wanted.host, port: wanted.port, verdict })
}

enum Unreached {
    Refused(Refused),
    Failed(String),
}

/// A connection to where a request wants to go. The name is looked up once, and only if it was granted; what is
/// connected to is what was looked at.
fn reached(wanted: &Wanted, destinations: &Destinations) -> Result<TcpStream, Unreached> {
    let (host, port) = (wanted.host.as_str(), wanted.port);
    destinations.names(host, port).map_err(Unreached::Refused)?;
    let failed = |error: io::Error| Unreached::Failed(format!("{host}:{port} cannot be reached: {error}"));
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    destinations.reach(host, port, &addresses).map_err(Unreached::Refused)?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in found {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// Leads a connection through.
fn passed(mut client: UnixStream, mut server: TcpStream, wanted: &Wanted) -> Verdict {
    let begun = (|| {
        client.set_read_timeout(None)?;
        match &wanted.first {
            None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
            Some(first) => server.write_all(first)?,
        }
        server.write_all(&wanted.rest)?;
        tunnel(client, server)
    })();
    match begun {
        Ok((sent, received)) => {
            let before = wanted.first.as_ref().map_or(0, Vec::len) + wanted.rest.len();
            Verdict::Passed { sent: sent + before as u64, received }
        }
        Err(error) => Verdict::Failed { reason: error.to_string() },
    }
}

/// Says no. A client that does not wait for the reply has its answer, too.
fn refuse(client: &mut UnixStream, status: &str, reason: &str) {
    let body = format!("looop: {reason}\n");
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    drop(client.write_all(text.as_bytes()));
}

/// Reads the head of a request; nothing if the client leaves before it said anything.
fn wanted(client: &mut UnixStream) -> Result<Option<Wanted>, String> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count =
            client.read(&mut buffer).map_err(|error| format!("the request cannot be read: {error}"))?;
        if count == 0 {
            return if head.is_empty() { Ok(None) } else { Err("the request breaks off".to_owned()) };
        }
        head.extend_from_slice(&buffer[..count]);
        if let Some(wanted) = parsed(&head)? {
            return Ok(Some(wanted));
        }
        if head.len() > HEAD {
            return Err(format!("the head of the request is longer than {HEAD} bytes"));
        }
    }
}

/// What a request says, once its head is whole.
fn parsed(text: &[u8]) -> Result<Option<Wanted>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length =
        match request.parse(text).map_err(|error| format!("this is no request to a proxy: {error}"))? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let no_target = || format!("\"{target}\" names no host: this is a proxy");
    if method == "CONNECT" {
        let (host, port) =
            authority(target).and_then(|(host, port)| Some((host, port?))).ok_or_else(no_target)?;
        return Ok(Some(Wanted { host: host.to_owned(), port, first: None, rest: text[length..].to_vec() }));
    }
    let target = target.strip_prefix("http://").ok_or_else(no_target)?;
    let end = target.find(['/', '?', '#']).unwrap_or(target.len());
    let (named, path) = target.split_at(end);
    let (host, port) = authority(named).filter(|(host, _)| !host.is_empty()).ok_or_else(no_target)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // The server is told the host that was granted, whatever the request says besides, and the connection serves this one
    // request.
    let mut first =
        format!("{method} {slash}{path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n").into_bytes();
    for header in request.headers.iter() {
        let dropped = ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];
        if !dropped.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            first.extend_from_slice(header.name.as_bytes());
            first.extend_from_slice(b": ");
            first.extend_from_slice(header.value);
            first.extend_from_slice(b"\r\n");
        }
    }
    first.extend_from_slice(b"\r\n");
    let rest = text[length..].to_vec();
    Ok(Some(Wanted { host: host.to_owned(), port: port.unwrap_or(80), first: Some(first), rest }))
}

#[cfg(test)]
mod tests;
