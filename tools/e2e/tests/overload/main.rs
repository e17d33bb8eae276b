//! More than there is room for: clients and upstreams that hold on, a store that takes its time, all at once. Answers
//! stay right, memory stays bounded, nothing is lost or done twice, and when it is over the service is what it was.

// Tests run in this order, two at a time on two cores: the first takes longest, and the last leaves room for nobody.
mod clients;
mod stores;
mod upstreams;
mod wave;
