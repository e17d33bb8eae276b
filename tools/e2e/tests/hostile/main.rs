//! Requests of somebody who means harm: each gets the answer that it should, and nothing else comes of it. The upstream
//! sees whole requests of ours alone, nothing is stored that was refused, and the service goes on answering.

mod at_rest;
mod bodies;
mod codings;
mod framing;
mod headers;
mod methods;
mod paths;
mod setting;
mod ssrf;
