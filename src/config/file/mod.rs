//! The file: from TOML to checked values.
//!
//! The steps, a file each: `tree` keeps the values with their lines; `template` fills the variables in; `at` reads one
//! value and says where it stands when it is wrong; the others read the sections. What is unknown is refused, and no
//! error ever quotes a value, so none can show a secret.

mod at;
mod events;
mod forward;
mod handler;
mod headers;
mod operation;
mod parse;
mod policy;
mod sections;
mod services;
mod template;
mod text;
mod tree;

pub(super) use self::parse::parse;
pub(super) use self::template::{fill, variables};
pub(super) use self::tree::Node;

use self::at::At;
use self::operation::Surroundings;
use super::{Config, ConfigError, Operation};

/// Checks a whole file.
pub(super) fn read(root: &Node) -> Result<Config, Box<ConfigError>> {
    let file = At::root(root).fields(&[
        "store",
        "operators",
        "tenant",
        "log",
        "cors",
        "delivery",
        "upstreams",
        "sinks",
        "inboxes",
        "operations",
    ])?;
    let store = sections::store(file.find("store"))?;
    let admin_token = sections::admin_token(file.find("operators"))?;
    let tenant_header = sections::tenant_header(file.find("tenant"))?;
    let log_level = sections::log_level(file.find("log"))?;
    let cors = sections::cors(file.find("cors"))?;
    let delivery = policy::delivery(file.find("delivery"))?;
    let upstreams = services::upstreams(file.find("upstreams").as_ref())?;
    let sinks = services::sinks(file.find("sinks").as_ref())?;
    let inboxes = services::inboxes(file.find("inboxes").as_ref())?;
    let around = Surroundings {
        upstreams: &upstreams,
        sinks: &sinks,
        delivery: delivery.policy,
    };
    let operations = operations(&file.need("operations")?, &around)?;
    Ok(Config {
        store,
        admin_token,
        tenant_header,
        log_level,
        cors,
        delivery,
        upstreams,
        sinks,
        inboxes,
        operations,
    })
}

fn operations(at: &At<'_>, around: &Surroundings<'_>) -> Result<Vec<Operation>, Box<ConfigError>> {
    let items = at.items()?;
    if items.is_empty() {
        return Err(at.wrong("is empty: a service has at least one operation"));
    }
    let mut operations: Vec<Operation> = Vec::new();
    for item in &items {
        let fields = item.fields(operation::FIELDS)?;
        let operation = operation::read(&fields, around)?;
        if operations.iter().any(|other| other.name == operation.name) {
            return Err(fields.wrong("name", "is the name of another operation too"));
        }
        let clash = operations.iter().zip(&items).find(|(other, _)| {
            other.method == operation.method && other.route.overlaps(&operation.route)
        });
        if let Some((_, other)) = clash {
            // Not by its route, which may be a variable's value.
            let problem = format!("matches requests that {} matches too", other.path());
            return Err(fields.wrong("route", problem));
        }
        operations.push(operation);
    }
    Ok(operations)
}
