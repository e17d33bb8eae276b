//! More than there is room for: clients and upstreams that hold on, a store that takes its time, all at once. Answers stay
//! right, memory stays bounded, nothing is lost or done twice, and when it is over the service is what it was.

mod burst;
mod silent_upstream;
mod slow_clients;
mod slow_store;
