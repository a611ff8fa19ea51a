//! The head of a request: its method and its path. Header fields are passed over: nothing here depends
//! on them. Source: RFC 9112, "Message Format".

/// Bytes of a request until the empty line.
pub(super) const HEAD_BYTES_MAX: usize = 8 << 10;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    /// Without the query.
    pub(super) path: &'a str,
}

/// The methods that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is none.
    Request,
    /// Another method.
    Method,
    /// It has more than [`HEAD_BYTES_MAX`].
    TooLong,
}

impl Request<'_> {
    /// The request, once its head is there; `None` before.
    pub(super) fn parse(head: &[u8]) -> Result<Option<Request<'_>>, Wrong> {
        let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(head.get(..end).unwrap_or_default());
        let line = head.ok().and_then(|head| head.lines().next());
        let mut words = line.unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Wrong::Request);
        };
        let is_http = matches!(version, "HTTP/1.1" | "HTTP/1.0");
        if !is_http || !target.starts_with('/') {
            return Err(Wrong::Request);
        }
        let method = match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            _ => return Err(Wrong::Method),
        };
        let path = target.split('?').next().unwrap_or(target);
        Ok(Some(Request { method, path }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_told_so() {
        let get = |path| {
            Ok(Some(Request {
                method: Method::Get,
                path,
            }))
        };
        for (head, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", get("/metrics")),
            ("GET /health?a=b HTTP/1.0\r\n\r\n", get("/health")),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n", Ok(None)),
            ("", Ok(None)),
            ("\r\n\r\n", Err(Wrong::Request)),
            ("GET  / HTTP/1.1\r\n\r\n", Err(Wrong::Request)),
            ("GET / HTTP/2.0\r\n\r\n", Err(Wrong::Request)),
            ("GET http://a/ HTTP/1.1\r\n\r\n", Err(Wrong::Request)),
            ("POST / HTTP/1.1\r\n\r\n", Err(Wrong::Method)),
        ] {
            assert_eq!(Request::parse(head.as_bytes()), expected, "{head:?}");
        }
        assert_eq!(
            Request::parse(b"GET /\xff HTTP/1.1\r\n\r\n"),
            Err(Wrong::Request)
        );
    }
}
