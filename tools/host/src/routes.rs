//! Which component answers a path.
//!
//! Matching is `routefinder`'s, which Spin uses too, so the same route wins: an exact one before one with named
//! segments, and a longer prefix before a shorter one.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};

/// The application's routes.
pub struct Routes(routefinder::Router<Target>);

#[derive(Clone)]
struct Target {
    component: String,
    route: String,
}

/// A path that found its component.
#[derive(Debug, PartialEq, Eq)]
pub struct Match {
    /// The component's id.
    pub component: String,
    /// The route as the manifest has it.
    pub route: String,
    /// What the trailing `/...` stands for, with its leading slash; empty for a route without one.
    pub rest: String,
    /// What the named segments stand for.
    pub named: BTreeMap<String, String>,
}

impl Routes {
    /// Takes pairs of route and component id. A route that is given twice is an error: one of the two would never run.
    pub fn new(routes: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut finder = routefinder::Router::new();
        let mut seen = BTreeMap::new();
        for (route, component) in routes {
            let pattern = pattern(&route);
            if let Some(other) = seen.insert(pattern.clone(), component.clone()) {
                bail!(
                    "trigger.http: route {route:?} of component {component:?} is also the one of {other:?}"
                );
            }
            let target = Target {
                component,
                route: route.clone(),
            };
            finder
                .add(pattern.as_str(), target)
                .map_err(|problem| anyhow!("trigger.http: route {route:?}: {problem}"))?;
        }
        Ok(Self(finder))
    }

    /// The best match of a request's path.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<Match> {
        let found = self.0.best_match(path)?;
        let captures = found.captures();
        let Target { component, route } = found.handler().clone();
        Some(Match {
            component,
            route,
            rest: captures
                .wildcard()
                .map(|rest| with_slashes(rest, path))
                .unwrap_or_default(),
            named: captures
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        })
    }
}

impl Match {
    /// The match of a request from another component: as if the component's route were `/...`.
    #[must_use]
    pub fn internal(component: &str, path: &str) -> Self {
        Self {
            component: component.to_owned(),
            route: "/...".to_owned(),
            rest: path.to_owned(),
            named: BTreeMap::new(),
        }
    }

    /// The route in the spelling that was matched: with a slash at its start and none at its end.
    #[must_use]
    pub fn matched_route(&self) -> String {
        let slash = if self.route.starts_with('/') { "" } else { "/" };
        format!(
            "{slash}{}",
            self.route.strip_suffix('/').unwrap_or(&self.route)
        )
    }

    /// The route without its trailing `/...`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.route.strip_suffix("/...").unwrap_or(&self.route)
    }
}

/// A route in the router's spelling: a leading slash, none at the end, and a star for the dots.
fn pattern(route: &str) -> String {
    let slash = if route.starts_with('/') { "" } else { "/" };
    let route = route.strip_suffix('/').unwrap_or(route);
    match route.strip_suffix("/...") {
        Some(prefix) => format!("{slash}{prefix}/*"),
        None => format!("{slash}{route}"),
    }
}

/// The router cuts the slashes around the rest of a path; guests are promised them.
fn with_slashes(rest: &str, path: &str) -> String {
    let end = if path.ends_with('/') { "/" } else { "" };
    if rest.is_empty() {
        end.to_owned()
    } else {
        format!("/{rest}{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(routes: &[&str]) -> Routes {
        Routes::new(
            routes
                .iter()
                .map(|&route| (route.to_owned(), route.to_owned())),
        )
        .unwrap()
    }

    #[test]
    fn the_most_specific_route_wins() {
        let routes = routes(&[
            "/...",
            "/tasks",
            "/tasks/...",
            "/tasks/:id",
            "/tasks/new",
            "/-/admin/...",
        ]);
        for (path, route) in [
            ("/", "/..."),
            ("/other", "/..."),
            ("/tasks", "/tasks"),
            ("/tasks/1", "/tasks/:id"),
            ("/tasks/new", "/tasks/new"),
            ("/tasks/1/events", "/tasks/..."),
            ("/-/admin", "/-/admin/..."),
            ("/-/admin/x/y", "/-/admin/..."),
            ("/-/other", "/..."),
        ] {
            assert_eq!(routes.find(path).unwrap().route, route, "{path}");
        }
    }

    #[test]
    fn without_a_catch_all_other_paths_match_nothing() {
        let routes = routes(&["/tasks", "/orders/..."]);
        for path in ["/", "/task", "/tasks/1", "/order"] {
            assert_eq!(routes.find(path), None, "{path}");
        }
    }

    #[test]
    fn the_rest_keeps_its_slashes() {
        let routes = routes(&["/a/...", "/b"]);
        for (path, rest) in [
            ("/a", ""),
            ("/a/", "/"),
            ("/a/x", "/x"),
            ("/a/x/", "/x/"),
            ("/a/x/y", "/x/y"),
            ("/b", ""),
        ] {
            assert_eq!(routes.find(path).unwrap().rest, rest, "{path}");
        }
    }

    #[test]
    fn named_segments_are_told() {
        let found = routes(&["/tasks/:id/events/:number"])
            .find("/tasks/7/events/1")
            .unwrap();
        assert_eq!(found.named["id"], "7");
        assert_eq!(found.named["number"], "1");
    }

    #[test]
    fn a_route_given_twice_is_an_error() {
        let twice = ["/a", "/b/", "/b"].map(|route| (route.to_owned(), "main".to_owned()));
        let error = Routes::new(twice).err().unwrap().to_string();
        assert_eq!(
            error,
            r#"trigger.http: route "/b" of component "main" is also the one of "main""#
        );
    }

    #[test]
    fn an_internal_request_matches_everything() {
        let found = Match::internal("other", "/x/y");
        assert_eq!(
            (
                found.component.as_str(),
                found.rest.as_str(),
                found.prefix()
            ),
            ("other", "/x/y", "")
        );
    }
}
