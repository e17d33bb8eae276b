//! The fields of an operation that calls an upstream.

use super::super::{ConfigError, Forward, HeaderList, Route, RouteTemplate, Upstream};
use super::at::{At, Fields};
use super::headers;
use crate::machine::Name;
use crate::sorted::Sorted;

/// Statuses below 500 that are retried unless the file says otherwise. 409 is not among them: most upstreams mean a
/// conflict that stays.
const RETRY_STATUSES: [u16; 5] = [401, 403, 408, 425, 429];

/// Reads the call and the upstream that is called.
pub(super) fn read<'a>(
    fields: &Fields<'_>,
    route: &Route,
    upstreams: &'a Sorted<Name, Upstream>,
) -> Result<(Forward, &'a Upstream), Box<ConfigError>> {
    let at = fields.need("upstream")?;
    let name = at.name()?;
    let Some(upstream) = upstreams.get(&name) else {
        return Err(at.wrong("is the name of no upstream of this file"));
    };
    let path = fields.read("upstream_path", None, |at| {
        let path = RouteTemplate::parse(at.text()?, route);
        path.map(Some)
            .map_err(|problem| at.wrong(format!("is no path for this route: {problem}")))
    })?;
    let retry_statuses = fields.read("retry_statuses", RETRY_STATUSES.to_vec(), retry_statuses)?;
    let forward = Forward {
        upstream: name,
        path,
        retry_statuses,
    };
    Ok((forward, upstream))
}

/// Reads the list of the request headers that this upstream gets.
pub(super) fn headers(at: &At<'_>, upstream: &Upstream) -> Result<HeaderList, Box<ConfigError>> {
    let list = headers::forwarded(at)?;
    if list.has(&upstream.key_header) {
        return Err(at.wrong("has the header that carries the upstream's own key"));
    }
    Ok(list)
}

fn retry_statuses(at: &At<'_>) -> Result<Vec<u16>, Box<ConfigError>> {
    let mut statuses = Vec::new();
    for item in at.items()? {
        let status = item.integer(400..=499)?;
        statuses.push(u16::try_from(status).expect("the range is within the type"));
    }
    Ok(statuses)
}
